package tables

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tidemark/catalog"
	"tidemark/internal/status"
	"tidemark/parquet/payload"
)

// DefinitionsTopic holds the definitions, one record per topic id; compacted, one partition.
const DefinitionsTopic = "__tidemark_tables"

// DefinitionVersion is the version of the record layout (docs/format/table-definition.md).
const DefinitionVersion = 1

// Formats of values.
const (
	FormatRaw  = "raw"
	FormatJSON = "json"
)

// States an operator can give a table.
const (
	StateLive    = "live"
	StatePaused  = "paused"
	StateDropped = "dropped"
)

// Partitionings.
const (
	PartitionByDay  = "day(_kafka_timestamp)"
	PartitionByNone = "none"
)

// Definition says which table a topic becomes. It is the value of a record of DefinitionsTopic, as JSON; the key is
// the topic id as Kafka writes it.
type Definition struct {
	Version     int             `json:"version"`
	TopicID     string          `json:"topicId"`
	Topic       string          `json:"topic"`
	Namespace   string          `json:"namespace"`
	Table       string          `json:"table"`
	Format      string          `json:"format"`
	Schema      json.RawMessage `json:"schema,omitempty"` // inline JSON Schema, format json only
	PartitionBy string          `json:"partitionBy"`
	State       string          `json:"state"`
	Pipeline    uint64          `json:"pipeline"` // +1 per change
	UpdatedMs   int64           `json:"updatedMs"`
}

var namePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// reservedSuffixes belong to tables that Tidemark derives.
var reservedSuffixes = []string{"__quarantine", "__late", "__state", "__p"}

// TableName is the name a topic's table gets unless the operator gives another: every character outside [A-Za-z0-9_] becomes _.
func TableName(topic string) string {
	name := strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, topic)
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "t_" + name
	}
	return name
}

// ParseDefinition reads and checks the value of a definition record. Unknown fields are refused: a newer version wrote them.
func ParseDefinition(value []byte) (Definition, error) {
	var d Definition
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		return d, status.Errorf(status.Invalid, "table definition: %w", err)
	}
	return d, d.Validate()
}

// Encode is the record's value.
func (d Definition) Encode() []byte {
	b, err := json.Marshal(d)
	if err != nil {
		panic(fmt.Sprintf("tables: a definition cannot be marshalled: %v", err)) // only plain fields and checked JSON
	}
	return b
}

// Validate checks a definition by itself; all faults are in one Invalid error, schema faults with their position.
func (d Definition) Validate() error {
	var faults []string
	bad := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if d.Version != DefinitionVersion {
		bad("version %d is not %d, the one this release reads", d.Version, DefinitionVersion)
	}
	if _, err := catalog.ParseTopicID(d.TopicID); err != nil {
		bad("%v", err)
	}
	if d.Topic == "" {
		bad("topic is missing")
	}
	for what, name := range map[string]string{"namespace": d.Namespace, "table": d.Table} {
		if !namePattern.MatchString(name) {
			bad("%s %q: letters, digits and _ only, not starting with a digit, at most 128", what, name)
		}
	}
	for _, suffix := range reservedSuffixes {
		if strings.HasSuffix(strings.ToLower(d.Table), suffix) {
			bad("table %q: names that end in %s are reserved for derived tables; give another with --name", d.Table, suffix)
		}
	}
	if !slices.Contains([]string{PartitionByDay, PartitionByNone}, d.PartitionBy) {
		bad("partitionBy %q is neither %q nor %q", d.PartitionBy, PartitionByDay, PartitionByNone)
	}
	if !slices.Contains([]string{StateLive, StatePaused, StateDropped}, d.State) {
		bad("state %q is neither live, paused nor dropped", d.State)
	}
	if _, err := d.Decoder(); err != nil {
		bad("%v", err)
	}
	if len(faults) > 0 {
		slices.Sort(faults)
		return status.Errorf(status.Invalid, "table definition of topic %s: %s", d.Topic, strings.Join(faults, "; "))
	}
	return nil
}

// Decoder compiles the value format. Invalid names the place in the schema that is wrong.
func (d Definition) Decoder() (payload.Decoder, error) {
	switch d.Format {
	case FormatRaw:
		if len(d.Schema) > 0 {
			return nil, status.Errorf(status.Invalid, "format raw takes no schema")
		}
		return payload.NewRaw(), nil
	case FormatJSON:
		if len(d.Schema) == 0 {
			return nil, status.Errorf(status.Invalid, "format json needs a JSON Schema (--schema FILE)")
		}
		return payload.CompileJSON(d.Schema, payload.Options{})
	}
	return nil, status.Errorf(status.Invalid, "format %q is neither raw nor json, the ones this release reads", d.Format)
}
