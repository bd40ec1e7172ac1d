package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
	"text/tabwriter"
	"time"

	"tidemark/catalog"
	"tidemark/cgo/assemble"
	"tidemark/internal/kafkaclient"
	"tidemark/internal/status"
	"tidemark/tables"
)

type createFlags struct {
	topic, name, namespace, format, schema, partitionBy string
}

func tableCommands() []command {
	return []command{
		{name: "table create", args: "", summary: "make a topic a table", run: tableCreate, flags: func(f *flag.FlagSet, e *env) {
			c := &e.create
			f.StringVar(&c.topic, "topic", "", "the `topic`; it must be tiered (remote.storage.enable=true) and not compacted")
			f.StringVar(&c.name, "name", "", "`name` of the table; default: the topic's, with _ for other characters than letters and digits")
			f.StringVar(&c.namespace, "namespace", "kafka", "`namespace` of the table")
			f.StringVar(&c.format, "format", "raw", "`format` of the values: raw or json")
			f.StringVar(&c.schema, "schema", "", "JSON Schema `file`, for --format json")
			f.StringVar(&c.partitionBy, "partition-by", "day", "`how` the table is partitioned: day (of the record's timestamp) or none")
		}, long: "The brokers that lead the topic's partitions make the table within seconds and fill it from the start of the log, segment by segment\nas they are tiered. Records that do not fit the schema go to <table>__quarantine."},
		{name: "table list", args: "", summary: "list all tables; with --config also their state on that broker", run: tableList,
			long: "Reads the definitions from the topic __tidemark_tables. Dropped tables are not listed."},
		{name: "table show", args: "TOPIC", summary: "show a table: definition and, with --config, what it covers and why it does not go on", run: tableShow,
			long: "With --config the ledger is read from the catalog: per partition the offsets [start, next) are in the table, and \"not in the table\"\n" +
				"counts those up to the last stable offset, the active segment included. A catalog state other than NORMAL, EXPIRED and REPAIRED pauses\n" +
				"the table; the text beside it says why."},
		{name: "table pause", args: "TOPIC", summary: "stop filling a table; what it needs is kept", run: tableState(tables.StatePaused),
			long: "Nothing is lost: segments the table does not have yet are kept in the store beyond the topic's retention, and a resumed table catches up.\n" +
				"A pause that lasts costs their space."},
		{name: "table resume", args: "TOPIC", summary: "go on filling a paused table", run: tableState(tables.StateLive),
			long: "For tables paused with table pause. One that is paused by its catalog state (table show) goes on by itself once the reason is gone."},
		{name: "table drop", args: "TOPIC", summary: "remove a table from the catalog; its data files stay in the store", run: tableState(tables.StateDropped),
			long: "Brokers take the table and its quarantine out of the catalog within seconds and give up what they kept for it. The topic and its tiered\n" +
				"segments stay. A table that is created again for the topic is a new one and starts at the log start."},
	}
}

// definitions reads all definitions, by topic id. Records this release cannot read are named on stderr and left out.
func (e *env) definitions(ctx context.Context) (map[string]tables.Definition, error) {
	client, err := e.client()
	if err != nil {
		return nil, err
	}
	if _, err := client.DescribeTopic(ctx, tables.DefinitionsTopic); status.Is(err, status.NotFound) {
		return nil, status.Errorf(status.NotFound, "topic %s does not exist at %s: no broker with Tidemark's tables has started there yet "+
			"(it takes a few seconds after the start; the broker's log says why tables do not start)", tables.DefinitionsTopic, e.bootstrap)
	} else if err != nil {
		return nil, err
	}
	out := map[string]tables.Definition{}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := false
	client.TailCompacted(ctx, tables.DefinitionsTopic, func(key, value []byte, offset int64) {
		if value == nil || done {
			return
		}
		d, err := tables.ParseDefinition(value)
		if err != nil {
			fmt.Fprintf(e.errs, "offset %d of %s: %v\n", offset, tables.DefinitionsTopic, err)
			return
		}
		out[d.TopicID] = d
	}, func() { done = true; cancel() })
	if done {
		return out, nil
	}
	return nil, status.Errorf(status.Transient, "%s could not be read in time from %s", tables.DefinitionsTopic, e.bootstrap)
}

func (e *env) write(ctx context.Context, d tables.Definition) error {
	client, err := e.client()
	if err != nil {
		return err
	}
	d.UpdatedMs = time.Now().UnixMilli()
	if err := d.Validate(); err != nil {
		return err
	}
	return client.Produce(ctx, tables.DefinitionsTopic, []byte(d.TopicID), d.Encode())
}

func tableCreate(ctx context.Context, e *env, args []string) error {
	c := e.create
	if c.topic == "" || len(args) > 0 {
		return usageError("--topic TOPIC is needed and nothing beside the flags")
	}
	ctx, cancel := e.context(ctx)
	defer cancel()
	client, err := e.client()
	if err != nil {
		return err
	}
	info, err := client.DescribeTopic(ctx, c.topic)
	if status.Is(err, status.NotFound) {
		return status.Errorf(status.NotFound, "topic %s does not exist at %s", c.topic, e.bootstrap)
	}
	if err != nil {
		return err
	}
	if reason := tables.Refuse(info); reason != "" {
		return status.Errorf(status.Unsupported, "topic %s: %s", c.topic, reason)
	}
	d, err := newDefinition(c, info)
	if err != nil {
		return err
	}
	all, err := e.definitions(ctx)
	if err != nil {
		return err
	}
	if err := admit(&d, all); err != nil {
		return err
	}
	if err := e.write(ctx, d); err != nil {
		return err
	}
	return e.print(d, func(w io.Writer) {
		fmt.Fprintf(w, "table %s.%s of topic %s is defined; tidemark table show %s tells how far it is\n", d.Namespace, d.Table, d.Topic, d.Topic)
	})
}

func newDefinition(c createFlags, info kafkaclient.TopicInfo) (tables.Definition, error) {
	d := tables.Definition{Version: tables.DefinitionVersion, TopicID: catalog.TopicID(info.ID).String(), Topic: c.topic, Namespace: c.namespace,
		Table: c.name, Format: c.format, State: tables.StateLive, Pipeline: 1}
	if d.Table == "" {
		d.Table = tables.TableName(c.topic)
	}
	switch c.partitionBy {
	case "day":
		d.PartitionBy = tables.PartitionByDay
	case "none":
		d.PartitionBy = tables.PartitionByNone
	default:
		return d, usageError(fmt.Sprintf("--partition-by %q is neither day nor none", c.partitionBy))
	}
	if c.schema != "" {
		raw, err := os.ReadFile(c.schema)
		if err != nil {
			return d, status.Errorf(status.Invalid, "read the schema: %w", err)
		}
		var whole json.RawMessage // json.Compact alone tells no position
		if err := json.Unmarshal(raw, &whole); err != nil {
			return d, status.Errorf(status.Invalid, "schema %s is not JSON: %s", c.schema, position(raw, err))
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, whole); err != nil {
			return d, status.Errorf(status.Invalid, "schema %s is not JSON: %w", c.schema, err)
		}
		d.Schema = compact.Bytes()
	}
	return d, d.Validate()
}

// position puts a JSON syntax error at its line and column.
func position(raw []byte, err error) string {
	syntax, ok := err.(*json.SyntaxError)
	if !ok {
		return err.Error()
	}
	before := raw[:min(int(syntax.Offset), len(raw))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n') - 1
	return fmt.Sprintf("line %d column %d: %v", line, column, err)
}

// admit checks a new definition against the ones there are.
func admit(d *tables.Definition, all map[string]tables.Definition) error {
	for _, other := range all {
		if other.State == tables.StateDropped {
			if other.TopicID == d.TopicID {
				d.Pipeline = other.Pipeline + 1
			}
			continue
		}
		if other.TopicID == d.TopicID {
			return status.Errorf(status.Conflict, "topic %s is the table %s.%s already; drop it first to define it anew", d.Topic, other.Namespace, other.Table)
		}
		if strings.EqualFold(other.Table, d.Table) && strings.EqualFold(other.Namespace, d.Namespace) {
			return status.Errorf(status.Conflict, "the name %s.%s belongs to topic %s; give another with --name", d.Namespace, d.Table, other.Topic)
		}
	}
	return nil
}

func tableList(ctx context.Context, e *env, args []string) error {
	if len(args) > 0 {
		return usageError("takes nothing beside the flags")
	}
	ctx, cancel := e.context(ctx)
	defer cancel()
	all, err := e.definitions(ctx)
	if err != nil {
		return err
	}
	broker := e.brokerStates(ctx)
	list := make([]listed, 0, len(all))
	for _, d := range all {
		if d.State != tables.StateDropped {
			list = append(list, listed{d, broker[d.TopicID]})
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Topic < list[j].Topic })
	return e.print(list, func(w io.Writer) { printList(w, list, len(broker) > 0) })
}

// listed is a row of table list.
type listed struct {
	tables.Definition
	Broker *assemble.TableState `json:"broker,omitempty"` // as in shown
}

func printList(w io.Writer, list []listed, asked bool) {
	if len(list) == 0 {
		fmt.Fprintln(w, "no tables; tidemark table create --topic TOPIC makes one")
		return
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := "TOPIC\tTABLE\tFORMAT\tPARTITIONED BY\tSTATE\tTOPIC ID"
	if asked {
		head += "\tON THE BROKER\tREASON"
	}
	fmt.Fprintln(tw, head)
	for _, d := range list {
		fmt.Fprintf(tw, "%s\t%s.%s\t%s\t%s\t%s\t%s", d.Topic, d.Namespace, d.Table, d.Format, d.PartitionBy, d.State, d.TopicID)
		if b := d.Broker; asked && b != nil {
			why := b.Reason
			for _, p := range b.Partitions {
				if r := reason(p); why == "" && r != "" {
					why = fmt.Sprintf("partition %d: %s", p.Partition, r)
				}
			}
			fmt.Fprintf(tw, "\t%s\t%s", b.State, why)
		}
		fmt.Fprintln(tw)
	}
	_ = tw.Flush()
}

// find returns the definition of a topic: the live one, or the one of the topic id there is now.
func (e *env) find(ctx context.Context, topic string) (tables.Definition, error) {
	all, err := e.definitions(ctx)
	if err != nil {
		return tables.Definition{}, err
	}
	var found []tables.Definition
	for _, d := range all {
		if (d.Topic == topic || d.TopicID == topic) && d.State != tables.StateDropped {
			found = append(found, d)
		}
	}
	switch len(found) {
	case 0:
		return tables.Definition{}, status.Errorf(status.NotFound, "topic %s is not a table", topic)
	case 1:
		return found[0], nil
	}
	return tables.Definition{}, status.Errorf(status.Conflict, "there are %d tables of topics called %s (it was recreated); give the topic id that tidemark table list shows", len(found), topic)
}

func oneTopic(args []string) (string, error) {
	if len(args) != 1 {
		return "", usageError("give one TOPIC (or its topic id)")
	}
	return args[0], nil
}

func tableState(state string) func(context.Context, *env, []string) error {
	return func(ctx context.Context, e *env, args []string) error {
		topic, err := oneTopic(args)
		if err != nil {
			return err
		}
		ctx, cancel := e.context(ctx)
		defer cancel()
		d, err := e.find(ctx, topic)
		if err != nil {
			return err
		}
		if d.State != state {
			d.State = state
			d.Pipeline++
			if err := e.write(ctx, d); err != nil {
				return err
			}
		}
		return e.print(d, func(w io.Writer) { fmt.Fprintf(w, "table %s.%s is %s\n", d.Namespace, d.Table, state) })
	}
}
