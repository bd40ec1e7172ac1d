package remotestorage

import (
	"bytes"
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"tidemark/internal/budget"
	"tidemark/internal/kafkalog"
	"tidemark/internal/objectstore"
	"tidemark/internal/status"
	"tidemark/remotestorage/stored"
)

// walkers keep their buffers, which are as large as the largest batch they met.
var walkers = sync.Pool{New: func() any { return new(kafkalog.Walker) }}

// Copy stores a closed segment and returns its custom metadata for Kafka, at most 128 bytes. When it returns an error
// nothing of the attempt is readable. Errors: NotFound (a local file is gone), Corrupt (a local file is damaged),
// Unsupported (batches older than Kafka 0.11), Invalid, Closed, Cancelled, Transient (a deadline passed, a disk hangs), and those of the
// store.
func (m *Manager) Copy(ctx context.Context, seg Segment, paths Paths) (custom []byte, err error) {
	ctx, leave, err := m.enter(ctx, "copy")
	if err != nil {
		return nil, err
	}
	defer leave()
	defer m.noteCopy(seg.ID)()
	f := m.metrics.begin(seg.Size)
	defer func() { m.metrics.finish(f, err) }()
	defer m.watchSlow(seg, f)()
	custom, err = m.attempt(objectstore.WithTally(ctx, &f.tally), f, seg, paths)
	if err != nil {
		_, failed, _ := f.at()
		log, _ := seg.identity().Keys()
		return nil, status.Wrapf(err, "copy of offsets %d to %d of %s-%d to %s failed in stage %s after %v", seg.BaseOffset, seg.EndOffset, seg.Topic, seg.Partition, log,
			failed, millis(time.Since(f.start)))
	}
	m.completed(seg, f)
	return custom, nil
}

func (m *Manager) copy(ctx context.Context, f *flight, seg Segment, paths Paths) ([]byte, error) {
	turn, cancel := m.cfg.copyPace().WithDeadline(ctx, seg.Size)
	defer cancel()
	f.bound(turn)
	files, err := openFiles(seg, paths)
	if err != nil {
		return nil, err
	}
	defer files.close()
	f.enter(waiting)
	release, err := m.slots.Acquire(turn, 1)
	if err != nil {
		return nil, err
	}
	defer release()
	form, err := m.forms.begin(turn, seg, files.log, int32(m.cfg.ChunkBytes))
	if err != nil {
		return nil, err
	}
	defer form.close()
	ctx, cancel = m.cfg.copyPace().WithDeadline(ctx, seg.Size)
	defer cancel()
	f.bound(ctx)
	leave := m.leave(seg, files.log)
	defer leave()
	f.enter(checking)
	sidecar, chunks, meta, err := m.describe(ctx, seg, files, form)
	if err != nil {
		return nil, err
	}
	if err := m.upload(budget.WithLimit(ctx, m.sends), f, seg, files, summed{form.object(), chunks}, sidecar); err != nil {
		return nil, err
	}
	m.metrics.stored.Add(meta.Size)
	leave() // the hand-over takes the file
	f.enter(handing)
	custom := meta.Encode()
	seg.Custom = custom
	m.handOver(seg, paths.Log, files)
	return slices.Clone(custom), nil
}

// leave returns what gives up once, when it is called, the part of the page cache that the copy filled. Where a table will be made of the segment it stays.
func (m *Manager) leave(seg Segment, log *os.File) func() {
	if m.deps.Wanted != nil {
		if _, wanted := m.deps.Wanted(seg.TopicID); wanted {
			return func() {}
		}
	}
	var r residue
	r.begin(log, seg.Size)
	return func() { m.metrics.dropped.Add(r.drop()) }
}

// describe checks the files and makes the sidecar.
func (m *Manager) describe(ctx context.Context, seg Segment, files *files, form *shaping) ([]byte, []stored.Chunk, stored.Metadata, error) {
	w := walkers.Get().(*kafkalog.Walker)
	defer walkers.Put(w)
	chunks, crc, err := files.check(budget.WithLimit(ctx, m.reads), seg, form, w)
	if err != nil {
		return nil, nil, stored.Metadata{}, err
	}
	sidecar, err := stored.EncodeSidecar(stored.Manifest{
		Identity: seg.identity(), Topic: seg.Topic, EndOffset: seg.EndOffset, MaxTimestamp: seg.MaxTimestamp,
		Map: chunks, Writer: m.deps.Version, BrokerID: seg.BrokerID,
		KeyID: form.keyID, WrappedKey: form.wrapped,
	}, files.indexes, form.sealer)
	if err != nil {
		return nil, nil, stored.Metadata{}, err
	}
	return sidecar, chunks.Chunks, stored.Metadata{
		Size: chunks.StoredSize, CRC: crc, SidecarSize: int32(len(sidecar)), SidecarCRC: stored.CRC(sidecar),
		Transformed: chunks.Transformed(), ChunkSize: chunks.Uniform(),
	}, nil
}

// upload writes both objects, the sidecar last. Unless both are there at the end, a panic included, it removes them.
func (m *Manager) upload(ctx context.Context, f *flight, seg Segment, files *files, object objectstore.Source, sidecar []byte) error {
	logKey, sidecarKey := seg.identity().Keys()
	complete := false
	defer func() {
		if !complete {
			f.enter(cleaning)
			m.cleanUp(ctx, seg)
		}
	}()
	f.enter(uploading)
	if err := m.put(ctx, logKey, object); err != nil {
		return err
	}
	if fi, err := files.log.Stat(); err != nil || fi.Size() != files.size {
		return status.Errorf(status.Corrupt, "log file %s changed its size during the copy", files.log.Name())
	}
	f.enter(completing)
	if err := m.put(ctx, sidecarKey, bytes.NewReader(sidecar)); err != nil {
		return err
	}
	complete = true
	return nil
}

func (m *Manager) put(ctx context.Context, key string, src objectstore.Source) error {
	if err := ctx.Err(); err != nil {
		return status.Wrapf(err, "before the put of %s", key)
	}
	info, err := m.store.Put(ctx, key, src, objectstore.Condition{})
	if err != nil {
		return err
	}
	if info.Size != src.Size() {
		return status.Errorf(status.Corrupt, "the store says that %s has %d bytes, %d were put", key, info.Size, src.Size())
	}
	return nil
}

// lateWrite is how long after an attempt a store may still apply one of its puts.
const lateWrite = 5 * time.Minute

// cleanUp removes the objects of a failed attempt: now, with a deadline of its own, because the attempt's context has
// often ended and the broker does not clean up after an interrupt; else by a tombstone. The sidecar goes first. A put of the
// attempt may be applied after that, so its objects are removed once more later.
func (m *Manager) cleanUp(ctx context.Context, seg Segment) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.cfg.CleanupDeadline)
	defer cancel()
	err := m.tasks.Guard("clean-up", func() error {
		logKey, sidecarKey := seg.identity().Keys()
		if err := m.store.Delete(ctx, sidecarKey); err != nil {
			return err
		}
		return m.store.Delete(ctx, logKey)
	})
	later := m.reclaim.DeleteAfter(seg.identity(), seg.EndOffset+1, m.lateWrite)
	switch {
	case err != nil:
		m.metrics.cleanups.Inc()
		m.log.Warn("copy.cleanup.deferred", "topic", seg.Topic, "partition", seg.Partition, "base", seg.BaseOffset,
			"error", err.Error(), "recorded", later == nil, "effect", "the objects of the failed copy are removed later")
	case later != nil:
		m.log.Warn("copy.cleanup.once", "topic", seg.Topic, "partition", seg.Partition, "base", seg.BaseOffset, "error", later.Error(),
			"effect", "an object that the store writes after this stays there unseen")
	}
}
