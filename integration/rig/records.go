package rig

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"sort"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// RawValue is what rows are asked for in tables of format raw: the same as Digest.
const RawValue = "coalesce(md5(_kafka_value), 'NULL')"

// Digest stands for a value in records; a null value has its own.
func Digest(value []byte) string {
	if value == nil {
		return "NULL"
	}
	sum := md5.Sum(value)
	return hex.EncodeToString(sum[:])
}

func AsRecord(r *kgo.Record) Record {
	return Record{Partition: r.Partition, Offset: r.Offset, value: Digest(r.Value)}
}

// Produce writes records and returns them, with their offsets, in the order given.
func (w *Rig) Produce(cl *kgo.Client, records ...*kgo.Record) []Record {
	w.Helper()
	for _, result := range cl.ProduceSync(w.Ctx, records...) {
		if result.Err != nil {
			w.Fatalf("produce to %s-%d: %v", result.Record.Topic, result.Record.Partition, result.Err)
		}
	}
	out := make([]Record, len(records)) // results come in the order of their acknowledgement
	for i, r := range records {
		out[i] = AsRecord(r)
	}
	return out
}

// Seeded makes values that do not compress, the same in every run.
type Seeded struct{ *rand.ChaCha8 }

func NewSeeded(seed byte) Seeded { return Seeded{rand.NewChaCha8([32]byte{seed})} }

// Value is size bytes; the first of them are a name that is unique with its arguments.
func (s Seeded) Value(size int, format string, args ...any) []byte {
	v := fmt.Appendf(nil, format, args...)
	if len(v) < size {
		rest := make([]byte, size-len(v))
		_, _ = s.Read(rest)
		v = append(v, rest...)
	}
	return v
}

// Fill produces size bytes to a partition in records of 16 KiB.
func (w *Rig) Fill(cl *kgo.Client, s Seeded, topic string, partition int32, size int) []Record {
	w.Helper()
	var records []*kgo.Record
	for i := 0; i < size; i += 16 << 10 {
		records = append(records, &kgo.Record{Topic: topic, Partition: partition, Value: s.Value(16<<10, "fill %d|", i)})
	}
	return w.Produce(cl, records...)
}

// Consume reads all visible records of a topic up to its present end, as a consumer with read_committed.
func (w *Rig) Consume(topic string) []Record {
	w.Helper()
	var out []Record
	w.Each(topic, func(r *kgo.Record) { out = append(out, AsRecord(r)) })
	sort.Slice(out, func(i, j int) bool { return out[i].before(out[j]) })
	return out
}

// Decided waits until the markers of all ended transactions are in the log.
func (w *Rig) Decided(topic string) {
	w.Helper()
	w.Eventually(30*time.Second, func() error {
		ends, err := w.Admin().ListEndOffsets(w.Ctx, topic)
		if err != nil {
			return err
		}
		stable, err := w.Admin().ListCommittedOffsets(w.Ctx, topic)
		if err != nil {
			return err
		}
		ends.Each(func(o kadm.ListedOffset) {
			if s, _ := stable.Lookup(topic, o.Partition); s.Offset != o.Offset {
				err = fmt.Errorf("partition %d: an open transaction from offset %d on", o.Partition, s.Offset)
			}
		})
		return err
	})
}

// Each calls f with every visible record of a topic.
func (w *Rig) Each(topic string, f func(*kgo.Record)) {
	w.Helper()
	ends, err := w.Admin().ListCommittedOffsets(w.Ctx, topic)
	if err != nil || ends.Error() != nil {
		w.Fatalf("ends of %s: %v %v", topic, err, ends.Error())
	}
	// Control records are kept only to see that a partition's end is reached; they are not given to f.
	from := map[int32]kgo.Offset{}
	left := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			from[o.Partition], left[o.Partition] = kgo.NewOffset().AtStart(), o.Offset
		}
	})
	if len(left) == 0 {
		return
	}
	cl := w.Client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), kgo.FetchMaxWait(time.Second))
	defer cl.Close()
	ctx, cancel := context.WithTimeout(w.Ctx, 2*time.Minute)
	defer cancel()
	for len(left) > 0 {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err0(); err != nil && ctx.Err() != nil {
			w.Fatalf("read %s: %v; partitions and their ends still to reach: %v", topic, err, left)
		}
		fetches.EachError(func(t string, p int32, err error) { w.Logf("read %s-%d: %v", t, p, err) })
		fetches.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				f(r)
			}
			if r.Offset >= left[r.Partition]-1 {
				delete(left, r.Partition)
			}
		})
	}
}

// InLog fails unless the log holds every acknowledged record, and nothing twice.
func (w *Rig) InLog(log, acknowledged []Record) {
	w.Helper()
	at := map[[2]int64]string{}
	values := map[string]bool{}
	for _, r := range log {
		at[[2]int64{int64(r.Partition), r.Offset}] = r.value
		if values[r.value] {
			w.Errorf("partition %d offset %d is in the log a second time", r.Partition, r.Offset)
		}
		values[r.value] = true
	}
	for _, r := range acknowledged {
		if value, ok := at[[2]int64{int64(r.Partition), r.Offset}]; !ok || value != r.value {
			w.Fatalf("partition %d offset %d was acknowledged and is not in the log with that value (found: %v)", r.Partition, r.Offset, ok)
		}
	}
}

// SameRecords fails unless both are the same records in the same order.
func (w *Rig) SameRecords(got, want []Record) {
	w.Helper()
	if len(got) != len(want) {
		w.Errorf("%d records instead of %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			w.Fatalf("record %d is partition %d offset %d %.60q instead of partition %d offset %d %.60q", i, got[i].Partition, got[i].Offset, got[i].value,
				want[i].Partition, want[i].Offset, want[i].value)
		}
	}
}

// Background is a producer beside the test.
type Background struct {
	w      *Rig
	cancel context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex
	acked []Record
	err   error
}

// ProduceBeside produces to all partitions of a topic until stop, about rate bytes a second and partition, through broker failures.
func (w *Rig) ProduceBeside(topic string, partitions int32, rate int) *Background {
	w.Helper()
	const size = 4 << 10
	ctx, cancel := context.WithCancel(w.Ctx)
	b := &Background{w: w, cancel: cancel, done: make(chan struct{})}
	cl := w.Client(kgo.ProducerLinger(20*time.Millisecond), kgo.MaxBufferedRecords(2000), kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.RetryBackoffFn(func(int) time.Duration { return 200 * time.Millisecond }), kgo.MetadataMinAge(200*time.Millisecond))
	go func() {
		defer close(b.done)
		s := NewSeeded(77)
		tick := time.NewTicker(time.Second * size / time.Duration(rate))
		defer tick.Stop()
		for i := 0; ctx.Err() == nil; i++ {
			for p := range partitions {
				cl.Produce(w.Ctx, &kgo.Record{Topic: topic, Partition: p, Value: s.Value(size, "beside %d/%d|", p, i)}, b.acknowledged)
			}
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
		if err := cl.Flush(w.Ctx); err != nil {
			b.acknowledged(nil, fmt.Errorf("flush: %w", err))
		}
	}()
	w.Cleanup(cancel)
	return b
}

func (b *Background) acknowledged(r *kgo.Record, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case err == nil:
		b.acked = append(b.acked, AsRecord(r))
	case b.err == nil:
		b.err = err
	}
}

// count is how many records were acknowledged so far.
func (b *Background) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.acked)
}

// GoesOn waits until more records are acknowledged.
func (b *Background) GoesOn(more int) {
	b.w.Helper()
	from := b.count()
	b.w.Eventually(time.Minute, func() error {
		if n := b.count() - from; n < more {
			return fmt.Errorf("%d of %d records were acknowledged since", n, more)
		}
		return nil
	})
}

// Stop ends the producer and returns what was acknowledged.
func (b *Background) Stop() []Record {
	b.w.Helper()
	b.cancel()
	<-b.done
	if b.err != nil && !errors.Is(b.err, context.Canceled) {
		b.w.Fatalf("a record could not be produced: %v", b.err)
	}
	return b.acked
}

// Different says where two byte strings differ first, "" if nowhere.
func Different(got, want []byte) string {
	if bytes.Equal(got, want) {
		return ""
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("byte %d is %02x instead of %02x (%d bytes, expected %d)", i, got[i], want[i], len(got), len(want))
		}
	}
	return fmt.Sprintf("%d bytes instead of %d, equal as far as they go", len(got), len(want))
}
