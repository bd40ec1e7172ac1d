package schema

// Positions of the system columns: they come first in every table, in this order.
const (
	KafkaPartition = iota
	KafkaOffset
	KafkaTimestamp
	KafkaTimestampType
	KafkaLeaderEpoch
	KafkaKey
	KafkaHeaders
	SystemColumns // their number
)

// System returns the seven system columns of every table. (_kafka_partition, _kafka_offset) is a row's identity.
// Ids are zero: the catalog assigns them.
func System() []Field {
	return []Field{
		{Name: "_kafka_partition", Type: Type{Kind: Int}, Doc: "Kafka partition"},
		{Name: "_kafka_offset", Type: Type{Kind: Long}, Doc: "Kafka offset; with the partition the identity of the row"},
		{Name: "_kafka_timestamp", Type: Type{Kind: Timestamptz}, Doc: "record timestamp; null if there is none or outside years 1-9999"},
		{Name: "_kafka_timestamp_type", Type: Type{Kind: Int}, Doc: "0 CreateTime, 1 LogAppendTime; null if there is no timestamp"},
		{Name: "_kafka_leader_epoch", Type: Type{Kind: Int}, Doc: "leader epoch of the record batch"},
		{Name: "_kafka_key", Type: Type{Kind: Binary}, Doc: "the raw key; null and empty are different"},
		{Name: "_kafka_headers", Type: Type{Kind: List, Element: &Field{Name: "element", Type: Type{Kind: Struct, Fields: []Field{
			{Name: "key", Type: Type{Kind: String}},
			{Name: "value", Type: Type{Kind: Binary}},
		}}}}, Doc: "headers in order, duplicates and null values kept; null if there are none"},
	}
}

// RawValue is the column of the raw value of a table in raw format.
func RawValue() Field {
	return Field{Name: "_kafka_value", Type: Type{Kind: Binary}, Doc: "the raw value; null and empty are different"}
}
