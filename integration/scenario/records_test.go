package scenario

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

// rawValue is what rows are asked for in tables of format raw: the same as digest.
const rawValue = "coalesce(md5(_kafka_value), 'NULL')"

// digest stands for a value in records; a null value has its own.
func digest(value []byte) string {
	if value == nil {
		return "NULL"
	}
	sum := md5.Sum(value)
	return hex.EncodeToString(sum[:])
}

func asRecord(r *kgo.Record) record {
	return record{partition: r.Partition, offset: r.Offset, value: digest(r.Value)}
}

// produce writes records and returns them, with their offsets, in the order given.
func (w *world) produce(cl *kgo.Client, records ...*kgo.Record) []record {
	w.Helper()
	for _, result := range cl.ProduceSync(w.ctx, records...) {
		if result.Err != nil {
			w.Fatalf("produce to %s-%d: %v", result.Record.Topic, result.Record.Partition, result.Err)
		}
	}
	out := make([]record, len(records)) // results come in the order of their acknowledgement
	for i, r := range records {
		out[i] = asRecord(r)
	}
	return out
}

// seeded makes values that do not compress, the same in every run.
type seeded struct{ *rand.ChaCha8 }

func newSeeded(seed byte) seeded { return seeded{rand.NewChaCha8([32]byte{seed})} }

// value is size bytes; the first of them are a name that is unique with its arguments.
func (s seeded) value(size int, format string, args ...any) []byte {
	v := fmt.Appendf(nil, format, args...)
	if len(v) < size {
		rest := make([]byte, size-len(v))
		_, _ = s.Read(rest)
		v = append(v, rest...)
	}
	return v
}

// fill produces size bytes to a partition in records of 16 KiB.
func (w *world) fill(cl *kgo.Client, s seeded, topic string, partition int32, size int) []record {
	w.Helper()
	var records []*kgo.Record
	for i := 0; i < size; i += 16 << 10 {
		records = append(records, &kgo.Record{Topic: topic, Partition: partition, Value: s.value(16<<10, "fill %d|", i)})
	}
	return w.produce(cl, records...)
}

// consume reads all visible records of a topic up to its present end, as a consumer with read_committed.
func (w *world) consume(topic string) []record {
	w.Helper()
	var out []record
	w.each(topic, func(r *kgo.Record) { out = append(out, asRecord(r)) })
	sort.Slice(out, func(i, j int) bool {
		return out[i].partition < out[j].partition || out[i].partition == out[j].partition && out[i].offset < out[j].offset
	})
	return out
}

// decided waits until the markers of all ended transactions are in the log.
func (w *world) decided(topic string) {
	w.Helper()
	w.eventually(30*time.Second, func() error {
		ends, err := w.admin().ListEndOffsets(w.ctx, topic)
		if err != nil {
			return err
		}
		stable, err := w.admin().ListCommittedOffsets(w.ctx, topic)
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

// each calls f with every visible record of a topic.
func (w *world) each(topic string, f func(*kgo.Record)) {
	w.Helper()
	ends, err := w.admin().ListCommittedOffsets(w.ctx, topic)
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
	cl := w.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), kgo.FetchMaxWait(time.Second))
	defer cl.Close()
	ctx, cancel := context.WithTimeout(w.ctx, 2*time.Minute)
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

// inLog fails unless the log holds every acknowledged record, and nothing twice.
func (w *world) inLog(log, acknowledged []record) {
	w.Helper()
	at := map[[2]int64]string{}
	values := map[string]bool{}
	for _, r := range log {
		at[[2]int64{int64(r.partition), r.offset}] = r.value
		if values[r.value] {
			w.Errorf("partition %d offset %d is in the log a second time", r.partition, r.offset)
		}
		values[r.value] = true
	}
	for _, r := range acknowledged {
		if value, ok := at[[2]int64{int64(r.partition), r.offset}]; !ok || value != r.value {
			w.Fatalf("partition %d offset %d was acknowledged and is not in the log with that value (found: %v)", r.partition, r.offset, ok)
		}
	}
}

// background is a producer beside the test.
type background struct {
	w      *world
	cancel context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex
	acked []record
	err   error
}

// produceBeside produces to all partitions of a topic until stop, about rate bytes a second and partition, through broker failures.
func (w *world) produceBeside(topic string, partitions int32, rate int) *background {
	w.Helper()
	const size = 4 << 10
	ctx, cancel := context.WithCancel(w.ctx)
	b := &background{w: w, cancel: cancel, done: make(chan struct{})}
	cl := w.client(kgo.ProducerLinger(20*time.Millisecond), kgo.MaxBufferedRecords(2000), kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.RetryBackoffFn(func(int) time.Duration { return 200 * time.Millisecond }), kgo.MetadataMinAge(200*time.Millisecond))
	go func() {
		defer close(b.done)
		s := newSeeded(77)
		tick := time.NewTicker(time.Second * size / time.Duration(rate))
		defer tick.Stop()
		for i := 0; ctx.Err() == nil; i++ {
			for p := range partitions {
				cl.Produce(w.ctx, &kgo.Record{Topic: topic, Partition: p, Value: s.value(size, "beside %d/%d|", p, i)}, b.acknowledged)
			}
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
		if err := cl.Flush(w.ctx); err != nil {
			b.acknowledged(nil, fmt.Errorf("flush: %w", err))
		}
	}()
	w.Cleanup(cancel)
	return b
}

func (b *background) acknowledged(r *kgo.Record, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case err == nil:
		b.acked = append(b.acked, asRecord(r))
	case b.err == nil:
		b.err = err
	}
}

// count is how many records were acknowledged so far.
func (b *background) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.acked)
}

// goesOn waits until more records are acknowledged.
func (b *background) goesOn(more int) {
	b.w.Helper()
	from := b.count()
	b.w.eventually(time.Minute, func() error {
		if n := b.count() - from; n < more {
			return fmt.Errorf("%d of %d records were acknowledged since", n, more)
		}
		return nil
	})
}

// stop ends the producer and returns what was acknowledged.
func (b *background) stop() []record {
	b.w.Helper()
	b.cancel()
	<-b.done
	if b.err != nil && !errors.Is(b.err, context.Canceled) {
		b.w.Fatalf("a record could not be produced: %v", b.err)
	}
	return b.acked
}

// different says where two byte strings differ first, "" if nowhere.
func different(got, want []byte) string {
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
