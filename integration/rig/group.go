package rig

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Follower is a consumer group of one member beside the test. It must never lose its place: an offset that is skipped, or that the broker
// calls out of range, is a fault. Offsets after its last commit may come again when its coordinator moves.
type Follower struct {
	w      *Rig
	cancel context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex
	pace  time.Duration
	next  map[int32]int64
	read  []Record
	fault error
}

// Follow reads a topic from its start as a group that commits, until Stop; pace is the pause between two polls.
// The topic must not have transactions: every offset is expected.
func (w *Rig) Follow(topic, group string, pace time.Duration, opts ...kgo.Opt) *Follower {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Ctx)
	f := &Follower{w: w, cancel: cancel, done: make(chan struct{}), next: map[int32]int64{}, pace: pace}
	cl := w.Client(append([]kgo.Opt{kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.AutoCommitInterval(500 * time.Millisecond), kgo.FetchMaxWait(500 * time.Millisecond)}, opts...)...)
	go func() {
		defer close(f.done)
		defer cl.Close()
		for ctx.Err() == nil {
			fetches := cl.PollFetches(ctx)
			fetches.EachError(func(t string, p int32, err error) { f.trouble(ctx, p, err) })
			fetches.EachRecord(f.take)
			select {
			case <-ctx.Done():
			case <-time.After(f.pause()):
			}
		}
	}()
	w.Cleanup(cancel)
	return f
}

func (f *Follower) take(r *kgo.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := f.next[r.Partition]
	switch {
	case r.Offset < next:
		return
	case r.Offset > next && f.fault == nil:
		f.fault = fmt.Errorf("partition %d: offset %d follows %d", r.Partition, r.Offset, next-1)
	}
	f.next[r.Partition] = r.Offset + 1
	f.read = append(f.read, AsRecord(r))
}

// trouble keeps what ends a partition for a consumer that never resets; leaders that move are no such thing.
func (f *Follower) trouble(ctx context.Context, partition int32, err error) {
	if ctx.Err() != nil || kerr.IsRetriable(err) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.w.Logf("the group reads partition %d: %v", partition, err)
	var lost *kgo.ErrDataLoss
	if f.fault == nil && (errors.Is(err, kerr.OffsetOutOfRange) || errors.As(err, &lost)) {
		f.fault = fmt.Errorf("partition %d at offset %d: %w", partition, f.next[partition], err)
	}
}

// Reached waits until the group has read so many records.
func (f *Follower) Reached(n int, d time.Duration) {
	f.w.Helper()
	f.w.Eventually(d, func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.fault != nil {
			f.w.Fatalf("the group lost its place: %v", f.fault)
		}
		if len(f.read) < n {
			return fmt.Errorf("the group has read %d of %d records", len(f.read), n)
		}
		return nil
	})
}

// Next is the offset that the group reads next in a partition.
func (f *Follower) Next(partition int32) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.next[partition]
}

func (f *Follower) pause() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pace
}

// Hurry ends the pauses.
func (f *Follower) Hurry() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pace = 0
}

// Count is how many records the group has read.
func (f *Follower) Count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.read)
}

// Stop ends the group and returns what it read, in the order of the log.
func (f *Follower) Stop() []Record {
	f.w.Helper()
	f.cancel()
	<-f.done
	if f.fault != nil {
		f.w.Errorf("the group lost its place: %v", f.fault)
	}
	sort.Slice(f.read, func(i, j int) bool { return f.read[i].before(f.read[j]) })
	return f.read
}
