package scrub

import (
	"context"
	"math"
	"time"

	"tidemark/internal/budget"
	"tidemark/internal/status"
	"tidemark/remotestorage/stored"
)

// check fills in the outcome of an item. buf is the worker's, and grows.
func (r *run) check(ctx context.Context, i *item, buf *[]byte) {
	switch {
	case i.foreign.Key != "":
		i.add(ForeignObject, i.foreign.Key, 0, 0, "no segment has such a key: something else writes below this prefix")
	case i.sidecar.Key != "":
		i.err = r.segment(ctx, i, buf)
	default:
		i.err = r.alone(ctx, i, buf)
	}
}

// alone looks at a log object without a sidecar.
func (r *run) alone(ctx context.Context, i *item, buf *[]byte) error {
	age := r.Now.Sub(i.log.Modified)
	if age < r.Grace {
		i.young = true
		return nil
	}
	name := i.log.Key[:len(i.log.Key)-len("log")] + "sidecar"
	sidecar, err := r.store.Head(ctx, name)
	if err == nil { // completed since it was listed
		i.sidecar = sidecar
		return r.segment(ctx, i, buf)
	}
	if !status.Is(err, status.NotFound) {
		return err
	}
	if _, err = r.store.Head(ctx, i.log.Key); status.Is(err, status.NotFound) {
		i.gone = true
		return nil
	}
	if err == nil {
		i.add(OrphanLog, i.log.Key, 0, 0, "a log object of %d bytes, %s old, without a sidecar: left of a copy that failed, or of a removal under way; no reader uses it",
			i.log.Size, age.Round(time.Minute))
	}
	return err
}

// segment checks a sidecar and the log object it describes.
func (r *run) segment(ctx context.Context, i *item, buf *[]byte) error {
	m, ok, err := r.manifest(ctx, i)
	if err != nil || !ok {
		return err
	}
	i.keyID = m.KeyID
	logKey, sidecarKey := m.Keys()
	if sidecarKey != i.sidecar.Key {
		i.add(DamagedSidecar, i.sidecar.Key, 0, 0, "it describes another segment, whose sidecar is %s: an object under a wrong key", sidecarKey)
		return nil
	}
	if i.log.Key == "" {
		info, err := r.store.Head(ctx, logKey)
		if status.Is(err, status.NotFound) {
			return r.missing(ctx, i, logKey)
		}
		if err != nil {
			return err
		}
		i.log = info
	}
	if i.log.Size != m.Map.StoredSize {
		i.add(WrongSize, logKey, 0, 0, "it has %d bytes, its manifest says %d", i.log.Size, m.Map.StoredSize)
		return nil
	}
	if r.Quick {
		return nil
	}
	err = r.chunks(ctx, i, m.Map.Chunks, buf)
	if status.Is(err, status.NotFound) {
		return r.missing(ctx, i, logKey)
	}
	return err
}

// missing tells a log object that is not there from a segment that was deleted meanwhile: a removal takes the sidecar first.
func (r *run) missing(ctx context.Context, i *item, logKey string) error {
	_, err := r.store.Head(ctx, i.sidecar.Key)
	if status.Is(err, status.NotFound) {
		i.gone = true
		return nil
	}
	if err == nil {
		i.add(MissingLog, logKey, 0, 0, "it is not there, its sidecar is: the segment cannot be read")
	}
	return err
}

// manifest reads a sidecar and checks every byte of it. ok is false if there is none that can be used. Of a sidecar with damage
// outside of its manifest the manifest is used, and the damage is a finding.
func (r *run) manifest(ctx context.Context, i *item) (m stored.Manifest, ok bool, err error) {
	o := i.sidecar
	if o.Size > stored.MaxSidecarSize {
		i.add(DamagedSidecar, o.Key, 0, 0, "it has %d bytes, more than the largest sidecar of %d", o.Size, stored.MaxSidecarSize)
		return m, false, nil
	}
	release, err := r.sidecars.Acquire(ctx, o.Size)
	if err != nil {
		return m, false, err
	}
	defer release()
	var raw []byte
	var wrong error
	for attempt := range 2 {
		if err := r.take(ctx, o.Size); err != nil {
			return m, false, err
		}
		raw, _, err = r.store.Get(ctx, o.Key, max(o.Size, 1))
		if status.Is(err, status.NotFound) {
			i.gone = true
			return m, false, nil
		}
		if err != nil && !status.Is(err, status.Corrupt) {
			return m, false, err
		}
		var s *stored.Sidecar
		if wrong = err; err == nil {
			s, wrong = stored.DecodeSidecar(raw)
		}
		if wrong == nil {
			r.repeated.Add(int64(attempt))
			return s.Manifest, true, nil
		}
		if status.Is(wrong, status.Unsupported) {
			i.add(NewerFormat, o.Key, 0, 0, "%v; neither it nor its log object was checked", wrong)
			return m, false, nil
		}
	}
	if m, ok = salvage(raw); ok {
		i.add(DamagedSidecar, o.Key, 0, 0, "%v", wrong)
	} else {
		i.add(DamagedSidecar, o.Key, 0, 0, "%v; its log object was not checked", wrong)
	}
	return m, ok, nil
}

// salvage finds the manifest of a sidecar that is damaged elsewhere.
func salvage(raw []byte) (m stored.Manifest, ok bool) {
	t, err := stored.DecodeTrailer(raw)
	if end := t.ManifestOffset + int64(t.ManifestSize); err != nil || end > int64(len(raw)) {
		return m, false
	} else if m, err = stored.DecodeManifest(raw[t.ManifestOffset:end]); err != nil {
		return m, false
	}
	return m, true
}

// chunks reads a log object and compares every chunk. Neighbours that are damaged are one finding.
func (r *run) chunks(ctx context.Context, i *item, chunks []stored.Chunk, buf *[]byte) error {
	for len(chunks) > 0 {
		n, size := 1, int64(chunks[0].StoredSize)
		for n < len(chunks) && size+int64(chunks[n].StoredSize) <= window && chunks[n].Stored == chunks[0].Stored+size {
			size += int64(chunks[n].StoredSize)
			n++
		}
		if size > int64(len(*buf)) {
			*buf = make([]byte, max(size, window))
		}
		err := r.readRange(ctx, i.log.Key, (*buf)[:size], chunks[0].Stored)
		if err != nil && !status.Is(err, status.Corrupt) {
			return err
		}
		for _, c := range chunks[:n] {
			at := c.Stored - chunks[0].Stored
			data := (*buf)[at : at+int64(c.StoredSize)]
			if err == nil && stored.CRC(data) == c.CRC {
				continue
			}
			if err := r.again(ctx, i, c, data); err != nil {
				return err
			}
		}
		chunks = chunks[n:]
	}
	return nil
}

// again reads a chunk that did not agree once more: what is damaged on its way differs from what is damaged in the store.
func (r *run) again(ctx context.Context, i *item, c stored.Chunk, data []byte) error {
	end := c.Stored + int64(c.StoredSize)
	err := r.readRange(ctx, i.log.Key, data, c.Stored)
	switch crc := stored.CRC(data); {
	case status.Is(err, status.Corrupt):
		i.damaged(c.Stored, end, "%v", err)
	case err != nil:
		return err
	case crc == c.CRC:
		r.repeated.Add(1)
	default:
		i.damaged(c.Stored, end, "the chunk at byte %d has CRC32C %08x, its manifest says %08x", c.Stored, crc, c.CRC)
	}
	return nil
}

// damaged adds a range to the one before if they touch.
func (i *item) damaged(start, end int64, format string, args ...any) {
	if n := len(i.findings) - 1; n >= 0 && i.findings[n].Kind == DamagedLog && i.findings[n].End == start {
		i.findings[n].End = end
		return
	}
	i.add(DamagedLog, i.log.Key, start, end, format, args...)
}

func (r *run) readRange(ctx context.Context, key string, dst []byte, offset int64) error {
	if err := r.take(ctx, int64(len(dst))); err != nil {
		return err
	}
	return r.store.ReadRange(ctx, key, dst, offset)
}

// take waits until n more bytes may be read.
func (r *run) take(ctx context.Context, n int64) error {
	r.read.Add(n)
	if r.Rate == nil {
		return nil
	}
	if wait, _ := r.Rate.Reserve(float64(n), math.MaxInt64); wait > 0 && !budget.Sleep(ctx, wait) {
		return status.Wrapf(ctx.Err(), "waiting for the rate limit")
	}
	return nil
}
