package diskcache

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"tidemark/internal/budget"
	"tidemark/internal/status"
)

// owner is the one task that makes, writes and removes files. Its fields are the task's alone.
type owner struct {
	c        *Cache
	lock     *os.File
	active   *slab // being written, nil: the next write makes one
	end      int64 // of the blocks of active
	table    int64 // size of the table that active will get
	begun    span  // of active, on its way to the disk
	next     uint64
	troubled bool
	patience time.Duration
	again    time.Time // when writing is tried again
}

type span struct{ off, n int64 }

const (
	firstPause = 10 * time.Second
	lastPause  = 5 * time.Minute
	lookEvery  = 10 * time.Second // for a directory that was deleted, and for the time to try again
)

// run is the task.
func (o *owner) run(ctx context.Context) {
	defer o.c.stage.close()
	for ctx.Err() == nil {
		err := o.open(ctx)
		if err == nil {
			err = o.serve(ctx)
		}
		o.reset()
		if err != nil && ctx.Err() == nil {
			o.down(err)
			budget.Sleep(ctx, time.Until(o.again))
		}
	}
}

// serve works until the directory cannot be used any more or ctx ends.
func (o *owner) serve(ctx context.Context) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	o.c.setWritable(true)
	for {
		select {
		case <-ctx.Done():
			o.c.setWritable(false)
			o.flush()
			return nil
		case <-o.c.stage.wake:
			o.flush()
		case <-o.c.wake:
			o.forget()
		case s := <-o.c.bad:
			if s.dead {
				continue // its name may be that of a file that is in use
			}
			o.remove(s)
			o.down(status.Errorf(status.Transient, "%s cannot be read: what was in it is read from the store", s.path))
		case <-look.C:
			if err := o.look(); err != nil {
				return err
			}
			if !o.again.IsZero() && !time.Now().Before(o.again) {
				o.again = time.Time{}
				o.c.setWritable(true)
			}
		}
	}
}

// flush writes what is staged.
func (o *owner) flush() {
	b := o.c.stage.take()
	if b == nil {
		return
	}
	defer o.c.stage.give(b)
	if !o.again.IsZero() {
		o.c.metrics.bypassed.Add(int64(len(b.blocks))) // staged before the trouble
		return
	}
	o.wrote(o.write(b))
}

// wrote takes how a write ended.
func (o *owner) wrote(err error) {
	if err != nil {
		o.abandon()
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			if s := o.c.oldest(nil); s != nil {
				o.remove(s)
			}
		}
		o.down(err)
		return
	}
	if o.troubled {
		o.c.log.Info("diskcache.up", "dir", o.c.cfg.Dir)
	}
	o.troubled, o.patience = false, 0
}

// down stops writing for a while and says so once.
func (o *owner) down(err error) {
	o.c.setWritable(false)
	o.patience = min(max(2*o.patience, firstPause), lastPause)
	o.again = time.Now().Add(o.patience)
	if !o.troubled {
		o.c.log.Warn("diskcache.down", "dir", o.c.cfg.Dir, "error", err.Error(),
			"effect", "chunks are read from the store and not kept on disk; tried again by itself, said again only after it has worked")
	}
	o.troubled = true
}

// look finds out whether files were deleted under us.
func (o *owner) look() error {
	here, err := os.Stat(o.lockPath())
	if err != nil {
		return status.Errorf(status.Transient, "the directory is gone: %w", err)
	}
	ours, err := o.lock.Stat()
	if err != nil || !os.SameFile(here, ours) {
		return status.Errorf(status.Transient, "the directory was deleted and made again")
	}
	for _, s := range o.c.all() {
		if _, err := os.Stat(s.path); errors.Is(err, os.ErrNotExist) {
			o.remove(s) // gives its disk back
		}
	}
	return nil
}

// reset forgets everything about the directory but leaves its files.
func (o *owner) reset() {
	o.c.setWritable(false)
	for _, s := range o.c.all() {
		o.c.drop(s)
	}
	o.active = nil
	if o.lock != nil {
		_ = o.lock.Close() // ends the lock
		o.lock = nil
	}
}

// remove takes a slab and its file away.
func (o *owner) remove(s *slab) {
	if o.active == s {
		o.active = nil
	}
	o.c.drop(s)
	_ = o.c.device.Remove(s.path) // a file that stays is found at the next start
}

// abandon ends the active slab as it is: what was written whole can be read.
func (o *owner) abandon() {
	if s := o.active; s != nil && len(s.entries) == 0 {
		o.remove(s)
	}
	o.active = nil
}
