package convert

import (
	"tidemark/internal/kafkalog"
	"tidemark/parquet/column"
	"tidemark/parquet/payload"
	"tidemark/parquet/schema"
)

// ValueCap is how much of a bad record's value the quarantine table keeps; value_size says how long it was.
const ValueCap = 1 << 20

// Positions of the quarantine table's own columns, after the system columns.
const (
	quarantineValue = schema.SystemColumns + iota
	quarantineValueSize
	quarantineStage
	quarantineReason
	quarantineMessage
	quarantineFieldPath
	quarantineSchemaID
	quarantineSubject
	quarantineStatement
	quarantinePipeline
	quarantineReplayedAt
	quarantineReplayID
)

// QuarantineFields are the columns of a quarantine table.
func QuarantineFields() []schema.Field {
	text := schema.Type{Kind: schema.String}
	return append(schema.System(),
		schema.Field{Name: "value", Type: schema.Type{Kind: schema.Binary}, Doc: "the record's value, up to 1 MiB"},
		schema.Field{Name: "value_size", Type: schema.Type{Kind: schema.Long}, Doc: "bytes of the whole value"},
		schema.Field{Name: "stage", Type: text, Doc: "framing, resolve, decode, convert, partition or statement"},
		schema.Field{Name: "reason", Type: text, Doc: "why the record is not in the table"},
		schema.Field{Name: "message", Type: text, Doc: "the same in words"},
		schema.Field{Name: "field_path", Type: text, Doc: "the field that was wrong"},
		schema.Field{Name: "schema_id", Type: text, Doc: "writer schema, if there was one"},
		schema.Field{Name: "subject", Type: text, Doc: "registry subject, if there was one"},
		schema.Field{Name: "statement", Type: text, Doc: "statement that refused the record, if one did"},
		schema.Field{Name: "pipeline", Type: schema.Type{Kind: schema.Long}, Doc: "version of the table definition"},
		schema.Field{Name: "replayed_at", Type: schema.Type{Kind: schema.Timestamptz}, Doc: "when the record was replayed into the table"},
		schema.Field{Name: "replay_id", Type: text, Doc: "the replay that did it"},
	)
}

// Years 1 to 9999 in µs: what a timestamptz can hold in every engine.
const (
	minMicros = -62135596800000000
	maxMicros = 253402300799999999
)

// system is the values of the system columns of one record.
type system struct {
	partition int32
	offset    int64
	micros    int64
	timed     bool // micros is a timestamp
	timeType  int32
	epoch     int32
	record    *kafkalog.Record
}

func systemValues(partition int32, b kafkalog.Batch, rec *kafkalog.Record) system {
	s := system{partition: partition, offset: rec.Offset, epoch: b.LeaderEpoch(), record: rec, timeType: int32(b.TimestampType())}
	const limit = maxMicros / 1000
	if rec.Timestamp != -1 && rec.Timestamp >= minMicros/1000 && rec.Timestamp <= limit {
		s.micros, s.timed = rec.Timestamp*1000, true
	}
	return s
}

// day is the value of day(_kafka_timestamp): days since 1970-01-01, rounded down.
func (s system) day() int64 {
	const perDay = 86400 * 1000000
	d := s.micros / perDay
	if s.micros%perDay < 0 {
		d--
	}
	return d
}

// appendTo appends one value to each system column.
func (s system) appendTo(at []*column.Vector) {
	at[schema.KafkaPartition].AppendInt32(s.partition)
	at[schema.KafkaOffset].AppendInt64(s.offset)
	if s.timed {
		at[schema.KafkaTimestamp].AppendInt64(s.micros)
	} else {
		at[schema.KafkaTimestamp].AppendNull()
	}
	if s.record.Timestamp != -1 {
		at[schema.KafkaTimestampType].AppendInt32(s.timeType)
	} else {
		at[schema.KafkaTimestampType].AppendNull()
	}
	at[schema.KafkaLeaderEpoch].AppendInt32(s.epoch)
	appendBytes(at[schema.KafkaKey], s.record.Key)
	appendHeaders(at[schema.KafkaHeaders], s.record.Headers)
}

func appendHeaders(v *column.Vector, headers []kafkalog.Header) {
	if len(headers) == 0 {
		v.AppendNull()
		return
	}
	element := v.Children[0]
	for _, h := range headers {
		appendText(element.Children[0], h.Key)
		appendBytes(element.Children[1], h.Value)
		element.AppendStruct()
	}
	v.AppendList()
}

func appendBytes(v *column.Vector, b []byte) {
	if b == nil {
		v.AppendNull()
		return
	}
	v.AppendBytes(b)
}

// quarantineValues appends one value to each of the quarantine table's own columns.
func quarantineValues(at []*column.Vector, value []byte, bad *payload.BadValue, pipeline uint64) {
	appendBytes(at[quarantineValue], value[:min(len(value), ValueCap)])
	at[quarantineValueSize].AppendInt64(int64(len(value)))
	at[quarantineStage].AppendString(string(bad.Stage))
	at[quarantineReason].AppendString(string(bad.Reason))
	appendText(at[quarantineMessage], []byte(bad.Message))
	appendText(at[quarantineFieldPath], []byte(bad.FieldPath))
	at[quarantineSchemaID].AppendNull()
	at[quarantineSubject].AppendNull()
	at[quarantineStatement].AppendNull()
	at[quarantinePipeline].AppendInt64(int64(pipeline))
	at[quarantineReplayedAt].AppendNull()
	at[quarantineReplayID].AppendNull()
}
