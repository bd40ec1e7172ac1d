package main

import (
	"fmt"
	"time"

	"tidemark/catalog"
	"tidemark/internal/objectstore/key"
	"tidemark/remotestorage/stored"
)

// What dump prints: names that stay when those of the code change. Checksums are hexadecimal.
type (
	ledgerView struct {
		Event      catalog.Event   `json:"event"`
		Detail     string          `json:"detail"`
		Snapshot   int64           `json:"snapshot"`
		ClusterID  string          `json:"clusterId"`
		Topic      string          `json:"topic"`
		TopicID    string          `json:"topicId"`
		TableUUID  string          `json:"tableUuid"`
		Generation uint64          `json:"generation"`
		Seq        uint64          `json:"seq"`
		Sequence   int64           `json:"sequence"` // Iceberg's
		Gaps       uint64          `json:"gaps"`
		Partitions []partitionView `json:"partitions"`
	}
	partitionView struct {
		Partition    int32  `json:"partition"`
		Start        int64  `json:"start"`
		Next         int64  `json:"next"`
		Lo           int64  `json:"lo"`
		Floor        int64  `json:"floor"`
		BatchEpoch   int32  `json:"batchEpoch"`
		LastBatch    int64  `json:"lastBatchBase"`
		LastBatchCRC string `json:"lastBatchCrc"`
		NewestRow    int64  `json:"newestRow"`
	}
	metadataView struct {
		LogBytes     int64  `json:"logBytes"`
		LogCRC       string `json:"logCrc"`
		SidecarBytes int32  `json:"sidecarBytes"`
		SidecarCRC   string `json:"sidecarCrc"`
		Transformed  bool   `json:"transformed"`
	}
	manifestView struct {
		Topic        string      `json:"topic"`
		TopicID      string      `json:"topicId"`
		Partition    int32       `json:"partition"`
		SegmentID    string      `json:"segmentId"`
		BaseOffset   int64       `json:"baseOffset"`
		EndOffset    int64       `json:"endOffset"` // inclusive
		MaxTimestamp int64       `json:"maxTimestampMs"`
		Bytes        int64       `json:"bytes"`
		StoredBytes  int64       `json:"storedBytes"`
		ChunkBytes   int32       `json:"chunkBytes"`
		KeyID        string      `json:"keyId,omitempty"` // of an encrypted segment
		Writer       string      `json:"writer"`
		BrokerID     int32       `json:"brokerId"`
		Indexes      []indexView `json:"indexes"`
		Chunks       []chunkView `json:"chunks"`
	}
	indexView struct {
		Kind   string `json:"kind"`
		Offset int64  `json:"offset"`
		Bytes  int32  `json:"bytes"`
		CRC    string `json:"crc"`
	}
	chunkView struct {
		Original int64  `json:"original"` // positions
		Stored   int64  `json:"stored"`
		Bytes    int32  `json:"storedBytes"`
		CRC      string `json:"crc"`
		Form     string `json:"form,omitempty"` // "" is plain
	}
)

func viewLedger(r catalog.Reading, snapshot int64) ledgerView {
	l := r.Ledger
	v := ledgerView{Event: r.Event, Detail: r.Detail, Snapshot: snapshot, ClusterID: l.Claim.ClusterID, Topic: l.Claim.Topic, TopicID: l.Claim.TopicID.String(),
		TableUUID: uuid(l.TableUUID), Generation: l.Generation, Seq: l.Seq, Sequence: l.Sequence, Gaps: l.GapCount, Partitions: []partitionView{}}
	for _, n := range l.Numbers() {
		p := l.Progress(n)
		v.Partitions = append(v.Partitions, partitionView{Partition: n, Start: p.Start, Next: p.Next, Lo: p.Lo, Floor: p.Floor, BatchEpoch: p.BatchEpoch,
			LastBatch: p.LastBatchBase, LastBatchCRC: crc(p.LastBatchCRC), NewestRow: p.Last})
	}
	return v
}

func viewManifest(m stored.Manifest) manifestView {
	v := manifestView{Topic: m.Topic, TopicID: key.UUID(m.TopicID), Partition: m.Partition, SegmentID: key.UUID(m.SegmentID), BaseOffset: m.BaseOffset,
		EndOffset: m.EndOffset, MaxTimestamp: m.MaxTimestamp, Bytes: m.Map.Size, StoredBytes: m.Map.StoredSize, ChunkBytes: m.Map.ChunkSize,
		KeyID: m.KeyID, Writer: m.Writer, BrokerID: m.BrokerID, Indexes: []indexView{}, Chunks: []chunkView{}}
	for _, i := range m.Indexes {
		v.Indexes = append(v.Indexes, indexView{Kind: i.Kind.String(), Offset: i.Offset, Bytes: i.Size, CRC: crc(i.CRC)})
	}
	for _, c := range m.Map.Chunks {
		view := chunkView{Original: c.Original, Stored: c.Stored, Bytes: c.StoredSize, CRC: crc(c.CRC)}
		if c.Form != 0 {
			view.Form = c.Form.String()
		}
		v.Chunks = append(v.Chunks, view)
	}
	return v
}

func crc(sum uint32) string { return fmt.Sprintf("%08x", sum) }

// uuid is the usual writing of a table's UUID; topic and segment ids are written as Kafka does.
func uuid(id [16]byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// instant is a timestamp of Kafka in words.
func instant(ms int64) string {
	if ms < 0 {
		return "none"
	}
	return time.UnixMilli(ms).UTC().Format(time.RFC3339Nano)
}
