package kafkalog_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark/internal/kafkalog"
	"tidemark/internal/kafkalog/logtest"
	"tidemark/internal/status"
)

// smallSegment has a batch of every kind.
func smallSegment() *logtest.Segment {
	s := logtest.NewSegment(100)
	p := logtest.Producer{ID: 4}
	for _, c := range codecs {
		s.Produce(c, "a", "bb", "")
	}
	s.InTxn(p, "in").End(p, kafkalog.ControlAbort)
	s.Add(logtest.Batch{Base: s.Next() + 2, Last: s.Next() + 4, LeaderEpoch: 3}) // emptied by compaction
	return s.Add(logtest.Batch{Base: s.Next(), LeaderEpoch: 3, Records: logtest.Values(s.Next(), "end")})
}

// TestWalkFindsEveryFlip changes every byte of a segment to three other values. The CRC does not cover base offset and
// leader epoch: there the order of the batches and the span that the broker gives must tell.
func TestWalkFindsEveryFlip(t *testing.T) {
	s := smallSegment()
	epochs, err := kafkalog.ParseLeaderEpochs(s.LeaderEpochs())
	if err != nil {
		t.Fatal(err)
	}
	span := kafkalog.Span{Base: s.Base, End: s.Next() - 1, Epochs: epochs}
	batches, err := walkAll(s.Log)
	if err != nil {
		t.Fatal(err)
	}
	outside := map[int]bool{} // positions no CRC covers and no structure shows
	for _, b := range batches {
		for i := range 16 {
			outside[int(b.Pos)+i] = i < 8 || i >= 12
		}
	}
	for at := range s.Log {
		for _, flip := range []byte{1, 0x80, 0xff} {
			log := bytes.Clone(s.Log)
			log[at] ^= flip
			got, err := walkAll(log)
			if err == nil && outside[at] {
				for _, b := range got {
					if err = span.Check(b); err != nil {
						break
					}
				}
			}
			if !status.Is(err, status.Corrupt) && !besideGap(batches, at) {
				t.Fatalf("byte %d changed by %#x: %v", at, flip, err)
			}
		}
	}
}

// besideGap reports whether byte at is in the base offset of a batch with a gap before or after it: it may move within
// the gap unseen, because compaction makes gaps.
func besideGap(batches []kafkalog.Batch, at int) bool {
	for i, b := range batches {
		if in := at - int(b.Pos); in < 0 || in >= 8 {
			continue
		}
		return i > 0 && batches[i-1].NextOffset() < b.BaseOffset() || i+1 < len(batches) && b.NextOffset() < batches[i+1].BaseOffset()
	}
	return false
}

func TestWalkFindsEveryTruncation(t *testing.T) {
	s := smallSegment()
	ends := map[int64]bool{0: true}
	batches, _ := walkAll(s.Log)
	for _, b := range batches {
		ends[b.Pos+int64(b.Size())] = true
	}
	for n := range s.Log {
		n := int64(n)
		err := kafkalog.Walk(bytes.NewReader(s.Log), n, func(kafkalog.Batch) error { return nil })
		if want := !ends[n]; status.Is(err, status.Corrupt) != want {
			t.Fatalf("cut to %d bytes: %v", n, err)
		}
	}
	// The file is shorter than the broker said.
	err := kafkalog.Walk(bytes.NewReader(s.Log[:batches[2].Pos]), int64(len(s.Log)), func(kafkalog.Batch) error { return nil })
	if !status.Is(err, status.Corrupt) {
		t.Errorf("short file: %v", err)
	}
}

// TestWalkAcrossWindows has batches smaller than, around and far above the read window.
func TestWalkAcrossWindows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := logtest.NewSegment(0)
		var ends []int64
		for range rapid.IntRange(1, 12).Draw(t, "batches") {
			n := rapid.SampledFrom([]int{0, 10, 1000, 200_000, 512<<10 - 80, 512 << 10, 1_500_000}).Draw(t, "size")
			s.Produce(kafkalog.None, strings.Repeat("x", n))
			ends = append(ends, int64(len(s.Log)))
		}
		batches, err := walkAll(s.Log)
		if err != nil || len(batches) != len(ends) {
			t.Fatalf("%d of %d batches: %v", len(batches), len(ends), err)
		}
		pos := int64(0)
		for i, b := range batches {
			if b.Pos != pos || pos+int64(b.Size()) != ends[i] || !bytes.Equal(b.Bytes(), s.Log[pos:ends[i]]) {
				t.Fatalf("batch %d at %d with %d bytes, want %d to %d", i, b.Pos, b.Size(), pos, ends[i])
			}
			pos = ends[i]
		}
		from := rapid.IntRange(0, len(batches)-1).Draw(t, "from")
		n := 0
		err = kafkalog.WalkFrom(bytes.NewReader(s.Log), batches[from].Pos, ends[len(ends)-1], func(kafkalog.Batch) error { n++; return nil })
		if err != nil || n != len(batches)-from {
			t.Fatalf("from batch %d: %d batches, %v", from, n, err)
		}
	})
}

func TestWalkStopsAndFails(t *testing.T) {
	s := smallSegment()
	n := 0
	if err := kafkalog.Walk(bytes.NewReader(s.Log), int64(len(s.Log)), func(kafkalog.Batch) error { n++; return kafkalog.ErrStop }); err != nil || n != 1 {
		t.Errorf("ErrStop: %v after %d", err, n)
	}
	boom := errors.New("boom")
	if err := kafkalog.Walk(bytes.NewReader(s.Log), int64(len(s.Log)), func(kafkalog.Batch) error { return boom }); err != boom {
		t.Errorf("error of fn = %v", err)
	}
	disk := status.Errorf(status.Transient, "disk on fire")
	if err := kafkalog.Walk(brokenReader{disk}, 1000, func(kafkalog.Batch) error { return nil }); !status.Is(err, status.Transient) {
		t.Errorf("error of the reader = %v", err)
	}
	if err := kafkalog.WalkFrom(bytes.NewReader(s.Log), -1, 10, nil); !status.Is(err, status.Invalid) {
		t.Errorf("negative position: %v", err)
	}
	w := kafkalog.Walker{Limits: kafkalog.Limits{MaxBatchBytes: 70}}
	if err := w.Walk(bytes.NewReader(s.Log), 0, int64(len(s.Log)), func(kafkalog.Batch) error { return nil }); !status.Is(err, status.Unsupported) {
		t.Errorf("limit: %v", err)
	}
}

type brokenReader struct{ err error }

func (r brokenReader) ReadAt([]byte, int64) (int, error) { return 0, r.err }

// TestWalkRefusesOldFormats builds intact messages of magic 0 and 1, and damaged ones.
func TestWalkRefusesOldFormats(t *testing.T) {
	for magic := range byte(2) {
		body := []byte{magic, 0}
		if magic == 1 {
			body = binary.BigEndian.AppendUint64(body, 1_500_000_000_000)
		}
		body = append(body, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1, 'x')
		log := binary.BigEndian.AppendUint64(nil, 17)
		log = binary.BigEndian.AppendUint32(log, uint32(4+len(body)))
		log = binary.BigEndian.AppendUint32(log, crc32.ChecksumIEEE(body))
		log = append(log, body...)
		if _, err := walkAll(log); !status.Is(err, status.Unsupported) || !strings.Contains(err.Error(), "position 0 (offset 17)") {
			t.Errorf("magic %d: %v", magic, err)
		}
		log[len(log)-1]++
		if _, err := walkAll(log); !status.Is(err, status.Corrupt) {
			t.Errorf("magic %d, damaged: %v", magic, err)
		}
	}
}

func TestWalkRefusesDisorder(t *testing.T) {
	a := logtest.Batch{Base: 5, Records: logtest.Values(5, "a", "b")}
	b := logtest.Batch{Base: 6, Records: logtest.Values(6, "c")}
	if _, err := walkAll(append(a.Bytes(), b.Bytes()...)); !status.Is(err, status.Corrupt) {
		t.Errorf("overlapping batches: %v", err)
	}
}

func TestWalkerAllocatesNothing(t *testing.T) {
	s := smallSegment()
	src, w := bytes.NewReader(s.Log), kafkalog.Walker{}
	fn := func(kafkalog.Batch) error { return nil }
	if n := testing.AllocsPerRun(20, func() { _ = w.Walk(src, 0, src.Size(), fn) }); n > 0 {
		t.Errorf("%v allocations a walk", n)
	}
}

func FuzzWalk(f *testing.F) {
	f.Add(smallSegment().Log, true)
	f.Add(logtest.Batch{Base: 3, Records: logtest.Values(3, "x")}.Bytes(), false)
	f.Add([]byte{}, false)
	f.Fuzz(func(t *testing.T, log []byte, seal bool) {
		if n, ok := kafkalog.BatchLength(log); seal && ok && n >= kafkalog.HeaderSize && n <= int64(len(log)) {
			logtest.Seal(log[:n])
		}
		pos, next := int64(0), int64(0)
		err := kafkalog.Walk(io.NewSectionReader(bytes.NewReader(log), 0, int64(len(log))), int64(len(log)), func(b kafkalog.Batch) error {
			if b.Pos != pos || b.BaseOffset() < next || b.NextOffset() <= b.BaseOffset() {
				t.Fatalf("batch at %d, offsets %d to %d, expected at %d from %d", b.Pos, b.BaseOffset(), b.LastOffset(), pos, next)
			}
			pos, next = pos+int64(b.Size()), b.NextOffset()
			return nil
		})
		if err == nil && pos != int64(len(log)) {
			t.Fatalf("walked %d of %d bytes without an error", pos, len(log))
		}
		if err != nil && !status.Is(err, status.Corrupt) && !status.Is(err, status.Unsupported) {
			t.Fatalf("class of %v", err)
		}
	})
}
