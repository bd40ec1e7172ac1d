package tables

import (
	"strings"
	"testing"

	"tidemark/internal/status"
)

func good() Definition {
	return Definition{Version: 1, TopicID: "AAAAAAAAAAAAAAAAAAAAAQ", Topic: "t", Namespace: "kafka", Table: "t", Format: FormatRaw,
		PartitionBy: PartitionByDay, State: StateLive, Pipeline: 1}
}

func TestDefinitionRoundTrip(t *testing.T) {
	d := good()
	got, err := ParseDefinition(d.Encode())
	if err != nil || got.Table != "t" || got.Pipeline != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
}

func TestDefinitionFaultsAreNamed(t *testing.T) {
	cases := []struct {
		name   string
		change func(*Definition)
		want   string
	}{
		{"version", func(d *Definition) { d.Version = 9 }, "version 9"},
		{"topic id", func(d *Definition) { d.TopicID = "x" }, "topic id"},
		{"name", func(d *Definition) { d.Table = "a-b" }, `table "a-b"`},
		{"reserved", func(d *Definition) { d.Table = "a__Quarantine" }, "reserved"},
		{"format", func(d *Definition) { d.Format = "avro" }, `format "avro"`},
		{"json without schema", func(d *Definition) { d.Format = FormatJSON }, "--schema"},
		{"bad schema", func(d *Definition) {
			d.Format = FormatJSON
			d.Schema = []byte(`{"type":"object","properties":{"a":{"type":"nonsense"}}}`)
		}, "/properties/a"},
		{"state", func(d *Definition) { d.State = "gone" }, `state "gone"`},
		{"partitioning", func(d *Definition) { d.PartitionBy = "hour(x)" }, "partitionBy"},
	}
	for _, c := range cases {
		d := good()
		c.change(&d)
		err := d.Validate()
		if !status.Is(err, status.Invalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := ParseDefinition([]byte(`{"version":1,"colour":"red"}`)); err == nil || !strings.Contains(err.Error(), "colour") {
		t.Errorf("unknown field: %v", err)
	}
}

func TestTableName(t *testing.T) {
	for topic, want := range map[string]string{"flights": "flights", "a.b-c": "a_b_c", "1x": "t_1x"} {
		if got := TableName(topic); got != want {
			t.Errorf("%s: %s, want %s", topic, got, want)
		}
	}
}

// TestDefinitionGolden pins the record's bytes: brokers of other versions read them (docs/format/table-definition.md).
func TestDefinitionGolden(t *testing.T) {
	const want = `{"version":1,"topicId":"AAAAAAAAAAAAAAAAAAAAAQ","topic":"t","namespace":"kafka","table":"t","format":"json",` +
		`"schema":{"type":"object","properties":{"a":{"type":"string"}}},"partitionBy":"day(_kafka_timestamp)","state":"live","pipeline":1,"updatedMs":7}`
	d := good()
	d.Format, d.UpdatedMs = FormatJSON, 7
	d.Schema = []byte(`{"type":"object","properties":{"a":{"type":"string"}}}`)
	if got := string(d.Encode()); got != want {
		t.Errorf("encoded\n%s, want\n%s", got, want)
	}
	if got, err := ParseDefinition([]byte(want)); err != nil || got.Table != "t" || got.UpdatedMs != 7 {
		t.Errorf("decoded %+v, %v", got, err)
	}
}
