package scenario

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/integration/cluster"
	"tidemark/integration/rig"
)

const ordersSchema = `{
  "type": "object",
  "required": ["id", "customer"],
  "properties": {
    "id": {"type": "integer"},
    "customer": {"type": "string"},
    "amount": {"type": ["number", "null"]},
    "paid": {"type": "boolean"},
    "placed": {"type": "string", "format": "date-time"},
    "address": {"type": "object", "properties": {"city": {"type": "string"}, "zip": {"type": ["integer", "null"]}}},
    "tags": {"type": "array", "items": {"type": "string"}}
  }
}`

// orderColumns is every column of a row as one JSON text.
const orderColumns = `to_json({id: id, customer: customer, amount: amount, paid: paid, placed: epoch_ms(placed), address: address, tags: tags,
	unmapped: _unmapped, key: hex(_kafka_key), time: epoch_ms(_kafka_timestamp), type: _kafka_timestamp_type, epoch: _kafka_leader_epoch,
	headers: list_transform(_kafka_headers, lambda h: h.key || '=' || coalesce(hex(h.value), 'NULL'))})`

// TestTable: a JSON topic becomes a table while bad records go to the quarantine and hold nothing up; an outside engine sees every
// column of every row as it was produced.
func TestTable(t *testing.T) {
	for _, version := range []string{"4.0.2", "4.4.0"} {
		t.Run("Kafka "+version, func(t *testing.T) {
			o := &orders{world: start(t, cluster.Options{Version: version, Tables: true}), want: map[[2]int64]map[string]any{}, bad: map[[2]int64]string{}}
			o.run()
		})
	}
}

type orders struct {
	*world
	want map[[2]int64]map[string]any
	bad  map[[2]int64]string
}

func (o *orders) run() {
	const topic = "orders"
	schema := filepath.Join(o.Cluster.Dir(), "orders.schema.json")
	if err := os.WriteFile(schema, []byte(ordersSchema), 0o644); err != nil {
		o.Fatal(err)
	}
	o.Topic(topic, 3, nil)
	o.write(0, 3000)
	o.CreateTable(topic, "--format", "json", "--schema", schema)
	// The table follows closed segments while the topic is written, bad records or not.
	o.write(3000, 6000)
	o.Eventually(time.Minute, func() error {
		s, err := o.Show(topic)
		if err != nil {
			return err
		}
		for _, p := range s.Partitions {
			if p.Next == 0 {
				return fmt.Errorf("partition %d has no row yet", p.Partition)
			}
		}
		return nil
	})
	o.TierAll(topic)
	o.Covered(topic)
	lag, err := o.Admin().ListEndOffsets(o.Ctx, topic)
	if err != nil {
		o.Fatal(err)
	}
	s, err := o.Show(topic)
	if err != nil {
		o.Fatal(err)
	}
	for _, p := range s.Partitions {
		if end, _ := lag.Lookup(topic, p.Partition); p.Next != end.Offset {
			o.Errorf("partition %d: the table covers up to %d, the log ends at %d: bad records must not count as lag", p.Partition, p.Next, end.Offset)
		}
	}
	o.compare(o.Rows(topic, orderColumns))
	o.Verify(topic)
	o.Done("%d rows equal in every column, %d bad records in the quarantine, no lag", len(o.want), len(o.bad))
}

// badValues are values that are no orders, by what the reason has to name.
var badValues = []string{`{"id": "seven", "customer": "x"}`, `{"customer": "no id"}`, `not JSON at all`, `{"id": 1, "customer": "cut`, `[]`,
	`{"id": 1, "customer": "x", "placed": "yesterday"}`, ``}

// write produces records [from, to).
func (o *orders) write(from, to int) {
	cl := o.Client(kgo.ProducerBatchCompression(kgo.NoCompression()))
	base := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	s := rig.NewSeeded(4)
	var records []*kgo.Record
	var rows []map[string]any
	for i := from; i < to; i++ {
		r := &kgo.Record{Topic: "orders", Partition: int32(i % 3), Timestamp: base.Add(time.Duration(i) * 500 * time.Millisecond)}
		row := o.order(i, s)
		if i%97 == 0 {
			row, r.Value = nil, []byte(badValues[i/97%len(badValues)])
		} else {
			r.Value = row["_value"].([]byte)
			if i%101 == 0 { // a null value is a row without values
				r.Value = nil
				for _, c := range []string{"id", "customer", "amount", "paid", "placed", "address", "tags", "unmapped"} {
					row[c] = nil
				}
			}
			row["time"], row["type"], row["epoch"] = float64(r.Timestamp.UnixMilli()), 0.0, 0.0
			o.envelope(r, row, i)
		}
		records, rows = append(records, r), append(rows, row)
	}
	for i, a := range o.Produce(cl, records...) {
		at := [2]int64{int64(a.Partition), a.Offset}
		if rows[i] == nil {
			o.bad[at] = string(records[i].Value)
			continue
		}
		delete(rows[i], "_value")
		o.want[at] = rows[i]
	}
}

// envelope gives some records keys and headers.
func (o *orders) envelope(r *kgo.Record, row map[string]any, i int) {
	row["key"], row["headers"] = nil, nil
	if i%4 != 0 {
		r.Key = fmt.Append(nil, "key-", i)
		row["key"] = strings.ToUpper(hex.EncodeToString(r.Key))
	}
	if i%5 == 0 {
		r.Headers = []kgo.RecordHeader{{Key: "source", Value: []byte{0, 0xff}}, {Key: "source"}}
		row["headers"] = []any{"source=00FF", "source=NULL"}
	}
}

// order is one order: the row it has to become, and under _value the JSON to produce.
func (o *orders) order(i int, s rig.Seeded) map[string]any {
	placed := time.Date(2026, 2, 3, 4, 5, 6, 789e6, time.UTC).Add(time.Duration(i) * time.Hour)
	doc := map[string]any{"id": i, "customer": fmt.Sprintf("Zoë %d ☃ %s", i, hex.EncodeToString(s.Value(300, ""))), "paid": i%2 == 0}
	row := map[string]any{"id": float64(i), "customer": doc["customer"], "paid": doc["paid"], "amount": nil, "placed": nil, "address": nil, "tags": nil, "unmapped": nil}
	if i%3 == 0 {
		doc["amount"], row["amount"] = float64(i)/8, float64(i)/8
	} else if i%3 == 1 {
		doc["amount"] = nil
	}
	if i%2 == 1 {
		doc["placed"], row["placed"] = placed.Format("2006-01-02T15:04:05.000Z"), float64(placed.UnixMilli())
	}
	if i%5 == 1 {
		doc["address"], row["address"] = map[string]any{"city": "Århus"}, map[string]any{"city": "Århus", "zip": nil}
	}
	if i%5 == 2 {
		doc["address"], row["address"] = map[string]any{"city": "Bonn", "zip": i}, map[string]any{"city": "Bonn", "zip": float64(i)}
	}
	if i%6 == 0 {
		doc["tags"], row["tags"] = []string{"a", "", fmt.Sprint(i)}, []any{"a", "", fmt.Sprint(i)}
	}
	if i%6 == 1 {
		doc["tags"], row["tags"] = []string{}, []any{}
	}
	if i%10 == 3 {
		doc["extra"], row["unmapped"] = i, fmt.Sprintf(`{"extra":%d}`, i)
	}
	value, err := json.Marshal(doc)
	if err != nil {
		o.Fatal(err)
	}
	row["_value"] = value
	return row
}

func (o *orders) compare(got rig.TableRows) {
	o.Helper()
	id := func(r [3]any) [2]int64 { return [2]int64{int64(r[0].(float64)), int64(r[1].(float64))} }
	if len(got.Rows) != len(o.want) || len(got.Quarantined) != len(o.bad) {
		o.Errorf("the table has %d rows of %d, the quarantine %d of %d", len(got.Rows), len(o.want), len(got.Quarantined), len(o.bad))
	}
	seen := map[[2]int64]bool{}
	for _, r := range got.Rows {
		at := id(r)
		var row map[string]any
		if err := json.Unmarshal([]byte(r[2].(string)), &row); err != nil {
			o.Fatal(err)
		}
		if seen[at] || !reflect.DeepEqual(row, o.want[at]) {
			o.Fatalf("partition %d offset %d (twice: %v):\n got %v\nwant %v", at[0], at[1], seen[at], row, o.want[at])
		}
		seen[at] = true
	}
	for _, r := range got.Quarantined {
		at := id(r)
		value, bad := o.bad[at]
		if reason, _ := r[2].(string); !bad || seen[at] || reason == "" {
			o.Errorf("partition %d offset %d is in the quarantine (reason %q); it was %q", at[0], at[1], reason, value)
		}
		seen[at] = true
	}
}
