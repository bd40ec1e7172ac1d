package assemble

import (
	"context"
	"io"

	"tidemark/catalog"
	"tidemark/catalog/builtin"
	"tidemark/cgo/dispatch"
	"tidemark/internal/objectstore"
	"tidemark/internal/status"
	"tidemark/parquet/schema"
	"tidemark/remotestorage"
	"tidemark/remotestorage/stored"
	"tidemark/tables"
	"tidemark/tables/convert"
	"tidemark/tables/ingest"
)

// Here storage and tables meet: each declares what it needs of the other, and neither imports the other.

// sink gives copied segments to ingestion.
type sink struct{ i *Instance }

func (s sink) HandOver(seg remotestorage.Segment) {
	if s.i.ingest != nil {
		s.i.ingest.HandOver(ingestSegment(seg))
	}
}

// holds tells removal what tables still need.
type holds struct{ i *Instance }

func (h holds) Held(topicID [16]byte, partition int32, base, end int64) bool {
	t := h.i.tables.Load()
	return t == nil || t.Held(topicID, partition, base, end) // nil: not assembled yet
}

// segments opens what ingestion converts.
type segments struct{ storage *remotestorage.Manager }

// source is an opened segment.
type source struct {
	io.ReaderAt
	size   int64
	closer io.Closer
}

func (s source) Size() int64 { return s.size }

func (s source) Close() error {
	if s.closer == nil {
		return nil
	}
	return s.closer.Close()
}

// Open takes the hold file of exactly this segment if it is there and whole, else the stored object.
func (s segments) Open(ctx context.Context, seg ingest.Segment) (ingest.Source, error) {
	for _, h := range s.storage.Held() {
		if seg.NoHold || h.SegmentID != seg.ID || h.TopicID != [16]byte(seg.TopicID) || h.Partition != seg.Partition.Partition {
			continue
		}
		at, size, closer, err := s.storage.OpenHeld(h)
		if err != nil {
			break
		}
		if size != seg.Size {
			_ = closer.Close() // truncated in place: the link shares the inode
			break
		}
		return source{at, size, closer}, nil
	}
	at, size, err := s.storage.OpenStored(ctx, storageSegment(seg))
	if err != nil {
		return nil, err
	}
	return source{at, size, nil}, nil
}

func (s segments) Index(ctx context.Context, seg ingest.Segment, kind ingest.Index) ([]byte, error) {
	k := stored.ProducerSnapshot
	if kind == ingest.Transaction {
		k = stored.TransactionIndex
	}
	return s.storage.Index(ctx, storageSegment(seg), k)
}

// Kept is what hold files and the deletes that wait name: names alone, nothing is read.
func (s segments) Kept() []ingest.Kept {
	var kept []ingest.Kept
	for _, h := range s.storage.Held() {
		kept = append(kept, ingest.Kept{TopicID: h.TopicID, Partition: h.Partition, ID: h.SegmentID, Base: h.Base, End: h.End})
	}
	for _, d := range s.storage.Deleting() {
		kept = append(kept, ingest.Kept{TopicID: d.TopicID, Partition: d.Partition, ID: d.SegmentID, Base: d.BaseOffset, End: d.End, Unlistable: true})
	}
	return kept
}

func (s segments) Describe(ctx context.Context, k ingest.Kept) (ingest.Segment, error) {
	seg, err := s.storage.Describe(ctx, remotestorage.Segment{TopicID: k.TopicID, Partition: k.Partition, ID: k.ID, BaseOffset: k.Base})
	if err != nil {
		return ingest.Segment{}, err
	}
	return ingestSegment(seg), nil
}

func (s segments) Release(topicID catalog.TopicID, partition int32, upTo int64) {
	s.storage.ReleaseHeld(topicID, partition, upTo)
}

// groups makes and drops the tables of a topic in the built-in catalog.
type groups struct {
	catalog    *builtin.Catalog
	store      objectstore.Store
	conditions *conditions
}

func (g groups) Create(ctx context.Context, claim catalog.Claim, d tables.Definition, main, quarantine []schema.Field) (tables.Group, error) {
	if err := g.conditions.check(); err != nil {
		return tables.Group{}, err
	}
	view, err := g.catalog.CreateGroup(ctx, builtin.GroupSpec{
		Claim: claim, Namespace: d.Namespace, Name: d.Table, Main: schema.Schema{Fields: main}, Quarantine: schema.Schema{Fields: quarantine},
		Unpartitioned: d.PartitionBy == tables.PartitionByNone,
	})
	if err != nil {
		return tables.Group{}, err
	}
	out := tables.Group{Claim: view.Claim, Schemas: map[catalog.Role]schema.Schema{}, Locations: map[catalog.Role]string{}, Specs: map[catalog.Role]convert.Spec{}}
	for role, t := range view.Tables {
		location, ok := g.store.Key(t.View.Location)
		if !ok {
			return tables.Group{}, status.Errorf(status.Invalid, "table %s lies at %s, which is outside the configured store", t.Name, t.View.Location)
		}
		out.Schemas[role], out.Locations[role] = t.Schema, location
		spec := convert.Spec{ID: t.View.SpecID}
		if len(t.Partition) > 0 {
			spec.Day, spec.FieldID = true, t.Partition[0].FieldID
		}
		out.Specs[role] = spec
	}
	return out, nil
}

func (g groups) Drop(ctx context.Context, topicID catalog.TopicID) error {
	err := g.catalog.Drop(ctx, topicID)
	if status.Is(err, status.NotFound) {
		return nil
	}
	return err
}

func segment(s dispatch.Segment) remotestorage.Segment {
	out := remotestorage.Segment{TopicID: s.TopicID, Topic: s.Topic, Partition: s.Partition, ID: s.ID, BaseOffset: s.BaseOffset, EndOffset: s.EndOffset,
		MaxTimestamp: s.MaxTimestamp, Size: s.Size, Custom: s.Custom, BrokerID: s.BrokerID, TxnIndexEmpty: s.TxnIndexEmpty}
	for _, e := range s.Epochs {
		out.Epochs = append(out.Epochs, remotestorage.Epoch{Epoch: e.Epoch, Start: e.Start})
	}
	return out
}

func ingestSegment(s remotestorage.Segment) ingest.Segment {
	return ingest.Segment{Partition: ingest.Partition{TopicID: s.TopicID, Topic: s.Topic, Partition: s.Partition}, ID: s.ID, Base: s.BaseOffset, End: s.EndOffset + 1,
		Size: s.Size, MaxTimestamp: s.MaxTimestamp, Epochs: s.Epochs, Custom: s.Custom, TxnIndexEmpty: s.TxnIndexEmpty}
}

func storageSegment(s ingest.Segment) remotestorage.Segment {
	return remotestorage.Segment{TopicID: s.TopicID, Topic: s.Topic, Partition: s.Partition.Partition, ID: s.ID, BaseOffset: s.Base, EndOffset: s.End - 1,
		MaxTimestamp: s.MaxTimestamp, Size: s.Size, Epochs: s.Epochs, Custom: s.Custom, TxnIndexEmpty: s.TxnIndexEmpty}
}

func partition(p dispatch.TopicPartition) ingest.Partition {
	return ingest.Partition{TopicID: p.TopicID, Topic: p.Topic, Partition: p.Partition}
}

func partitions(list []dispatch.TopicPartition) []ingest.Partition {
	out := make([]ingest.Partition, len(list))
	for n, p := range list {
		out[n] = partition(p)
	}
	return out
}
