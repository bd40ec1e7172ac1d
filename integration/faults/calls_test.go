package faults

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"tidemark/cgo/dispatch"
	"tidemark/internal/objectstore"
	"tidemark/internal/status"
	"tidemark/remotestorage/stored"
)

// segment is a new one of a partition.
func (w *world) segment(partition int32) dispatch.Segment {
	w.next++
	return dispatch.Segment{TopicID: [16]byte{7}, Topic: "flights", Partition: partition, ID: [16]byte{w.next, 9}, EndOffset: w.local.end,
		MaxTimestamp: 1000 * w.local.end, Size: int64(len(w.local.log)), Epochs: []dispatch.Epoch{{}}, BrokerID: 1, TxnIndexEmpty: true}
}

func keys(s dispatch.Segment) (log, sidecar string) {
	return stored.Identity{TopicID: s.TopicID, Partition: s.Partition, BaseOffset: s.BaseOffset, SegmentID: s.ID}.Keys()
}

// copyBound is the longest a copy may take at these settings, clean-up and a starved machine included.
func (w *world) bound(keys ...string) (d time.Duration) {
	for _, key := range keys {
		var ms int
		_, _ = fmt.Sscan(w.properties[key], &ms)
		d += time.Duration(ms) * time.Millisecond
	}
	return d + 8*time.Second
}

// try copies a segment as the broker does.
func (w *world) try(seg *dispatch.Segment) error {
	w.Helper()
	return w.bounded("copy", w.bound("copy.deadline.ms", "copy.cleanup.deadline.ms"), func() (err error) {
		seg.Custom, err = w.instance.Copy(context.Background(), dispatch.CopyRequest{Segment: *seg, Deadline: hang, Paths: w.local.paths})
		return err
	})
}

// copy must succeed.
func (w *world) copy() dispatch.Segment {
	w.Helper()
	seg := w.segment(0)
	if err := w.try(&seg); err != nil {
		w.Fatalf("copy: %v", err)
	}
	w.live++
	return seg
}

// refusedCopy must fail with one of the classes and leave nothing once the fault has ended; then the next attempt succeeds.
func (w *world) refusedCopy(classes ...status.Class) {
	w.Helper()
	seg := w.segment(0)
	err := w.try(&seg)
	if err == nil {
		w.Fatalf("the copy succeeded although the store refused it")
	}
	w.class("copy", err, classes...)
	_, sidecar := keys(seg)
	if _, err := w.direct.Head(context.Background(), sidecar); !status.Is(err, status.NotFound) {
		w.Errorf("a failed copy is visible: %v", err)
	}
	w.script()
	w.clean()
	w.intact(w.copy())
}

func (w *world) class(what string, err error, classes ...status.Class) {
	w.Helper()
	for _, c := range classes {
		if status.Is(err, c) {
			return
		}
	}
	w.Errorf("%s: class %v, want %v: %v", what, status.Of(err), classes, err)
}

// clean says that the store has the live segments and nothing else, in the end.
func (w *world) clean() {
	w.Helper()
	left := ""
	w.until("the store has the live segments and nothing else: "+left, 20*time.Second, func() bool {
		objects, _, err := w.direct.List(context.Background(), "segments", "", 1000)
		uploads, _, err2 := w.direct.ListUploads(context.Background(), "", 100)
		left = fmt.Sprintf("%d objects for %d segments, %d uploads, %v %v", len(objects), w.live, len(uploads), err, err2)
		return err == nil && err2 == nil && len(objects) == 2*w.live && len(uploads) == 0
	})
}

// read reads a segment whole; what it gets before an error must be right too.
func (w *world) read(seg dispatch.Segment) error {
	w.Helper()
	return w.bounded("read", w.bound("fetch.deadline.ms")+10*time.Second, func() error {
		ctx := context.Background()
		s, total, err := w.instance.Open(ctx, dispatch.StreamRequest{Segment: seg, Kind: dispatch.StreamSegment, End: -1})
		if err != nil {
			return err
		}
		defer s.Close()
		if total != int64(len(w.local.log)) {
			w.Errorf("a stream of %d bytes, want %d", total, len(w.local.log))
		}
		var at int
		for dst := make([]byte, 256<<10); at < len(w.local.log); {
			n, err := s.Next(ctx, dst)
			if at+n > len(w.local.log) || !bytes.Equal(dst[:n], w.local.log[at:at+n]) {
				w.Errorf("wrong data at byte %d", at)
			}
			at += n
			if err == io.EOF && at < len(w.local.log) {
				w.Errorf("short data: the stream ended at byte %d of %d", at, len(w.local.log))
				return nil
			}
			if err != nil && err != io.EOF {
				return err
			}
		}
		return nil
	})
}

func (w *world) index(seg dispatch.Segment) error {
	w.Helper()
	return w.bounded("index", w.bound("fetch.deadline.ms"), func() error {
		s, total, err := w.instance.Open(context.Background(), dispatch.StreamRequest{Segment: seg, Kind: dispatch.StreamOffset})
		if err != nil {
			return err
		}
		defer s.Close()
		want, err := os.ReadFile(w.local.paths.OffsetIndex)
		got := make([]byte, total)
		if n, _ := s.Next(context.Background(), got); err != nil || !bytes.Equal(got[:n], want) {
			w.Errorf("the offset index differs: %d bytes of %d, %v", n, len(want), err)
		}
		return nil
	})
}

// intact reads a segment and its index without error.
func (w *world) intact(seg dispatch.Segment) {
	w.Helper()
	if err := w.read(seg); err != nil {
		w.Errorf("read: %v", err)
	}
	if err := w.index(seg); err != nil {
		w.Errorf("index: %v", err)
	}
}

// remove asks for removal, which must return at once.
func (w *world) remove(seg dispatch.Segment) {
	w.Helper()
	if err := w.bounded("delete", 8*time.Second, func() error { return w.instance.Delete(context.Background(), seg) }); err != nil {
		w.Errorf("delete: %v", err)
	}
	w.live--
}

// hits is how many requests the script's rules of a name have hit since Forget.
func (w *world) hits() int64 { return w.proxy.Totals().Faults["fault"] }

func (w *world) put(key string, data []byte) {
	w.Helper()
	if _, err := w.direct.Put(context.Background(), key, bytes.NewReader(data), objectstore.Condition{}); err != nil {
		w.Fatalf("%v", err)
	}
}

func (w *world) get(key string) []byte {
	w.Helper()
	data, _, err := w.direct.Get(context.Background(), key, 1<<30)
	if err != nil {
		w.Fatalf("%v", err)
	}
	return data
}
