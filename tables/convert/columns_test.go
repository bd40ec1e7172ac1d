package convert

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark/catalog"
	"tidemark/internal/kafkalog"
	"tidemark/internal/kafkalog/logtest"
)

func TestSystemColumnsOfEveryKindOfRecord(t *testing.T) {
	type want = row
	day := int64(86400000)
	cases := []struct {
		name   string
		batch  logtest.Batch
		record kafkalog.Record
		want   want
	}{
		{"plain", logtest.Batch{LeaderEpoch: 4}, kafkalog.Record{Timestamp: 1500, Key: []byte("k"), Value: []byte("v")},
			want{"_kafka_partition": "3", "_kafka_timestamp": "1500000", "_kafka_timestamp_type": "0", "_kafka_leader_epoch": "4",
				"_kafka_key": `"k"`, "_kafka_value": `"v"`, "_kafka_headers": "null"}},
		{"null key and value", logtest.Batch{}, kafkalog.Record{}, want{"_kafka_key": "null", "_kafka_value": "null", "_kafka_timestamp": "0"}},
		{"empty key and value", logtest.Batch{}, kafkalog.Record{Key: []byte{}, Value: []byte{}}, want{"_kafka_key": `""`, "_kafka_value": `""`}},
		{"headers in order, twice, null and empty", logtest.Batch{}, kafkalog.Record{Headers: []kafkalog.Header{
			{Key: []byte("b"), Value: []byte("1")}, {Key: []byte("a"), Value: nil}, {Key: []byte("b"), Value: []byte{}}, {Key: []byte{}, Value: []byte("x")}}},
			want{"_kafka_headers": `[{"b","1"},{"a",null},{"b",""},{"","x"}]`}},
		{"header key that is not UTF-8", logtest.Batch{}, kafkalog.Record{Headers: []kafkalog.Header{{Key: []byte("a\xffb"), Value: []byte("\xff")}}},
			want{"_kafka_headers": "[{\"a\uFFFDb\",\"\\xff\"}]"}},
		{"the broker's time", logtest.Batch{LogAppendTime: 99}, kafkalog.Record{Timestamp: 5}, want{"_kafka_timestamp": "99000", "_kafka_timestamp_type": "1"}},
		{"no time", logtest.Batch{}, kafkalog.Record{Timestamp: -1}, want{"_kafka_timestamp": "null", "_kafka_timestamp_type": "null"}},
		{"before 1970", logtest.Batch{}, kafkalog.Record{Timestamp: -day}, want{"_kafka_timestamp": fmt.Sprint(-day * 1000), "_kafka_timestamp_type": "0"}},
		{"first of year 1", logtest.Batch{}, kafkalog.Record{Timestamp: minMicros / 1000}, want{"_kafka_timestamp": fmt.Sprint(int64(minMicros))}},
		{"year 0", logtest.Batch{}, kafkalog.Record{Timestamp: minMicros/1000 - 1}, want{"_kafka_timestamp": "null", "_kafka_timestamp_type": "0"}},
		{"last of year 9999", logtest.Batch{}, kafkalog.Record{Timestamp: maxMicros / 1000}, want{"_kafka_timestamp": fmt.Sprint(int64(maxMicros / 1000 * 1000))}},
		{"year 10000", logtest.Batch{}, kafkalog.Record{Timestamp: maxMicros/1000 + 1}, want{"_kafka_timestamp": "null"}},
		{"microseconds sent as milliseconds, more than a long of µs", logtest.Batch{}, kafkalog.Record{Timestamp: 1 << 60}, want{"_kafka_timestamp": "null"}},
		{"the least of times", logtest.Batch{}, kafkalog.Record{Timestamp: -1 << 62}, want{"_kafka_timestamp": "null"}},
	}
	c := converter(t, definition(rawDecoder))
	for _, k := range cases {
		k.batch.Base, k.record.Offset = 8, 8
		k.batch.Records = []kafkalog.Record{k.record}
		in := input(logtest.NewSegment(8).Add(k.batch))
		in.Partition = 3
		got := convert(t, c, in).rows[catalog.Main][8]
		for name, value := range k.want {
			if got[name] != value {
				t.Errorf("%s: %s is %s, want %s", k.name, name, got[name], value)
			}
		}
	}
}

func TestYearsOfTheTimestampColumn(t *testing.T) {
	first, last := time.UnixMicro(minMicros).UTC(), time.UnixMicro(maxMicros).UTC()
	if first != time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC) || last.Add(time.Microsecond) != time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) {
		t.Errorf("%s to %s", first, last)
	}
}

// A partition value that is not the transform of the row's value loses rows at pruning.
func TestDayIsTheTransformOfTheTimestamp(t *testing.T) {
	epoch := time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC).Unix() / 86400
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(minMicros/1000, maxMicros/1000).Draw(t, "ms")
		s := system{micros: ms * 1000, timed: true}
		at := time.UnixMilli(ms).UTC()
		midnight := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
		if want := midnight.Unix()/86400 - epoch; s.day() != want {
			t.Fatalf("%s is day %d, want %d", at, s.day(), want)
		}
	})
}

func TestJSONRowsAndQuarantineRows(t *testing.T) {
	values := []string{
		`{"carrier":"UA","delay":-4,"ratio":0.5,"tags":["x","y"]}`,
		`{"delay":1}`,                      // carrier is required
		`{"carrier":"B6"}`,                 //
		`{"carrier":"AA","delay":"late"}`,  // another type
		`{"carrier":"AA","tags":["a",7]}`,  // in a list
		`{"carrier":"DL","other":{"a":1}}`, // a property that the schema does not name
		`{"carrier":`,                      // cut off
		``,
	}
	records := logtest.Values(0, values...)
	records[1].Key, records[1].Headers = []byte("key"), []kafkalog.Header{{Key: []byte("h"), Value: []byte("v")}}
	records = append(records, kafkalog.Record{Offset: 8, Timestamp: 8000})
	s := logtest.NewSegment(0).Add(logtest.Batch{Records: records, Codec: kafkalog.Gzip, LeaderEpoch: 6})
	got := convert(t, converter(t, definition(jsonDecoder(t, flightSchema))), input(s))
	main := map[int64]row{
		0: {"carrier": `"UA"`, "delay": "-4", "ratio": "0.5", "tags": `["x","y"]`, "_unmapped": "null"},
		2: {"carrier": `"B6"`, "delay": "null", "tags": "null"},
		5: {"carrier": `"DL"`, "_unmapped": `"{\"other\":{\"a\":1}}"`},
		8: {"carrier": "null", "delay": "null", "_unmapped": "null", "_kafka_offset": "8"},
	}
	bad := map[int64]row{
		1: {"value": `"{\"delay\":1}"`, "value_size": "11", "stage": `"convert"`, "reason": `"MISSING_REQUIRED"`, "field_path": `"carrier"`, "pipeline": "5",
			"_kafka_key": `"key"`, "_kafka_headers": `[{"h","v"}]`, "_kafka_leader_epoch": "6", "_kafka_timestamp": "1000000", "schema_id": "null", "replayed_at": "null"},
		3: {"reason": `"TYPE_MISMATCH"`, "field_path": `"delay"`},
		4: {"reason": `"TYPE_MISMATCH"`, "field_path": `"tags[1]"`},
		6: {"reason": `"BAD_JSON"`, "stage": `"decode"`, "value": `"{\"carrier\":"`},
		7: {"reason": `"BAD_JSON"`, "value": `""`, "value_size": "0"},
	}
	for role, want := range map[catalog.Role]map[int64]row{catalog.Main: main, catalog.Quarantine: bad} {
		if len(got.rows[role]) != len(want) {
			t.Errorf("%s has %d rows, want %d", role, len(got.rows[role]), len(want))
		}
		for offset, columns := range want {
			for name, value := range columns {
				if is := got.rows[role][offset][name]; is != value {
					t.Errorf("%s, offset %d: %s is %s, want %s", role, offset, name, is, value)
				}
			}
		}
	}
	if got.Counts != (catalog.Counts{Rows: 4, Quarantined: 5, Tombstones: 1}) || got.Range.LastRow != 8 {
		t.Errorf("counts %+v, range %+v", got.Counts, got.Range)
	}
	if message := got.rows[catalog.Quarantine][3]["message"]; message == "null" || strings.Contains(message, "late") {
		t.Errorf("message %s: it says what is wrong, not the value", message)
	}
}

func TestQuarantineKeepsAMebibyteAndTheSize(t *testing.T) {
	for _, size := range []int{ValueCap - 1, ValueCap, ValueCap + 1, 3 * ValueCap} {
		value := bytes.Repeat([]byte{'x'}, size)
		s := logtest.NewSegment(0).Add(logtest.Batch{Records: []kafkalog.Record{{Value: value}}, Codec: kafkalog.Zstd})
		got := convert(t, converter(t, definition(jsonDecoder(t, flightSchema))), input(s)).rows[catalog.Quarantine][0]
		if kept := len(got["value"]) - 2; kept != min(size, ValueCap) || got["value_size"] != fmt.Sprint(size) {
			t.Errorf("%d bytes: %d kept, value_size %s", size, kept, got["value_size"])
		}
	}
}

// A bad record leaves no trace in the rows beside it, wherever it went bad.
func TestBadRecordsDoNotTouchTheirNeighbours(t *testing.T) {
	good := `{"carrier":"c","delay":1,"tags":["t"],"more":1}`
	c := converter(t, definition(jsonDecoder(t, flightSchema)))
	alone := convert(t, c, input(logtest.NewSegment(0).Produce(kafkalog.None, good))).rows[catalog.Main][0]
	rapid.Check(t, func(rt *rapid.T) {
		var values []string
		var isGood []bool
		for range rapid.IntRange(1, 200).Draw(rt, "n") {
			ok := rapid.Bool().Draw(rt, "good")
			value := good
			if !ok {
				value = rapid.SampledFrom([]string{`{"carrier":"c","delay":1,"tags":["t","u",3]}`, `{"carrier":"c","more":{"a":1},"delay":""}`, `{`, `[]`, "{\"carrier\":\"\xff\"}"}).Draw(rt, "bad")
			}
			values, isGood = append(values, value), append(isGood, ok)
		}
		got := convert(t, c, input(logtest.NewSegment(0).Produce(kafkalog.None, values...)))
		for i, ok := range isGood {
			r, there := got.rows[catalog.Main][int64(i)]
			if _, bad := got.rows[catalog.Quarantine][int64(i)]; there != ok || bad == ok {
				rt.Fatalf("offset %d: good %v, in main %v, in quarantine %v", i, ok, there, bad)
			}
			for _, name := range []string{"carrier", "delay", "tags", "_unmapped", "_kafka_key"} {
				if ok && r[name] != alone[name] {
					rt.Fatalf("offset %d: %s is %s, alone it is %s", i, name, r[name], alone[name])
				}
			}
		}
	})
}
