package storetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"tidemark/internal/objectstore"
	"tidemark/internal/status"
)

// Op is a kind of call.
type Op string

// The kinds of calls.
const (
	Get    Op = "get"
	Range  Op = "range"
	Head   Op = "head"
	List   Op = "list"
	Put    Op = "put"
	Delete Op = "delete"
)

// Effect is what a fault does to a call.
type Effect int

const (
	// Fail returns an error of the fault's class without asking the store.
	Fail Effect = iota
	// LostReply lets the store do it and returns an error of the fault's class (default Unknown for a put, else Transient).
	LostReply
	// Short makes the object look as if its second half were missing.
	Short
	// Flip changes one bit in the middle of what is read.
	Flip
	// Break fills the first half of the buffers of a scattered read and fails; it makes every other call fail.
	Break
	// Stall waits until the context ends and returns its error, without asking the store.
	Stall
	// Pass does nothing beyond the fault's Run.
	Pass
)

// Fault is one line of a script: the Nth call (from 1) of kind Op on a key that holds Key, and the Times-1 matching calls
// after it. Zero values: any kind, any key, the first call, once.
type Fault struct {
	Op     Op
	Key    string // substring of the (first) key, of the prefix for List
	Nth    int
	Times  int // -1: for ever
	Effect Effect
	Class  status.Class // default Transient
	Run    func()       // called before the effect, outside of locks: another actor's step, a cancel, a crash clone
}

// Call is one call a store saw.
type Call struct {
	Op  Op
	Key string
}

// Faults is a store that misbehaves as its script says.
type Faults struct {
	objectstore.Store

	mu     sync.Mutex
	script []*scripted
	calls  []Call
}

type scripted struct {
	Fault
	seen int
}

// Faulty puts a script in front of a store. Of several faults for one call the first strikes, all count it.
func Faulty(store objectstore.Store, script ...Fault) *Faults {
	f := &Faults{Store: store}
	f.Add(script...)
	return f
}

// Add appends to the script; counting starts now.
func (f *Faults) Add(script ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, fault := range script {
		fault.Nth = max(fault.Nth, 1)
		if fault.Times == 0 {
			fault.Times = 1
		}
		f.script = append(f.script, &scripted{Fault: fault})
	}
}

// Heal ends all faults.
func (f *Faults) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.script = nil
}

// Calls are all calls so far, in order.
func (f *Faults) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// Count is the number of calls of one kind so far.
func (f *Faults) Count(op Op) (n int) {
	for _, c := range f.Calls() {
		if c.Op == op {
			n++
		}
	}
	return n
}

// strike notes a call and returns the fault that hits it, if any.
func (f *Faults) strike(op Op, key string) *Fault {
	f.mu.Lock()
	f.calls = append(f.calls, Call{op, key})
	var hit *Fault
	for _, s := range f.script {
		if s.Op != "" && s.Op != op || !strings.Contains(key, s.Key) {
			continue
		}
		s.seen++
		if hit == nil && s.seen >= s.Nth && (s.Times < 0 || s.seen < s.Nth+s.Times) {
			hit = &s.Fault
		}
	}
	f.mu.Unlock()
	if hit != nil && hit.Run != nil {
		hit.Run()
	}
	return hit
}

// around runs a call under the script.
func (f *Faults) around(ctx context.Context, op Op, key string, call func() error) (*Fault, error) {
	hit := f.strike(op, key)
	return hit, f.apply(ctx, hit, op, key, call)
}

// class is that of the error a fault makes.
func (f *Fault) class(op Op) status.Class {
	switch {
	case f.Class != status.OK:
		return f.Class
	case f.Effect == LostReply && op == Put:
		return status.Unknown
	}
	return status.Transient
}

// apply runs a call under a fault, if there is one; Short and Flip are left to the caller.
func (f *Faults) apply(ctx context.Context, hit *Fault, op Op, key string, call func() error) error {
	if hit == nil {
		return call()
	}
	switch hit.Effect {
	case Fail, Break:
		return status.Errorf(hit.class(op), "%s %s: scripted failure", op, key)
	case LostReply:
		if err := call(); err != nil {
			return err
		}
		return status.Errorf(hit.class(op), "%s %s: scripted loss of the reply", op, key)
	case Stall:
		<-ctx.Done()
		return status.Wrapf(ctx.Err(), "%s %s: scripted stall", op, key)
	}
	return call()
}

// Get is scripted.
func (f *Faults) Get(ctx context.Context, key string, limit int64) (data []byte, info objectstore.Info, err error) {
	hit, err := f.around(ctx, Get, key, func() (err error) {
		data, info, err = f.Store.Get(ctx, key, limit)
		return err
	})
	if err != nil {
		return nil, objectstore.Info{}, err
	}
	switch {
	case hit == nil:
	case hit.Effect == Short:
		data = data[:len(data)/2]
		info.Size = int64(len(data))
	case hit.Effect == Flip && len(data) > 0:
		data[len(data)/2] ^= 1
	}
	return data, info, nil
}

// ReadRange is scripted.
func (f *Faults) ReadRange(ctx context.Context, key string, dst []byte, offset int64) error {
	hit, err := f.around(ctx, Range, key, func() error { return f.Store.ReadRange(ctx, key, dst, offset) })
	if err != nil || hit == nil {
		return err
	}
	switch {
	case hit.Effect == Short:
		return objectstore.ShortRange(key, offset, len(dst), offset+int64(len(dst)/2))
	case hit.Effect == Flip && len(dst) > 0:
		dst[len(dst)/2] ^= 1
	}
	return nil
}

// ReadScatter is scripted, as a range. Short and Break fill the first half of the buffers, Flip changes the buffer in the middle.
func (f *Faults) ReadScatter(ctx context.Context, key string, dsts [][]byte, offset int64, filled func(i int)) error {
	hit := f.strike(Range, key)
	middle := len(dsts) / 2
	if hit != nil && (hit.Effect == Short || hit.Effect == Break) {
		if err := f.Store.ReadScatter(ctx, key, dsts[:middle], offset, filled); err != nil || hit.Effect == Break {
			return errors.Join(err, status.Errorf(hit.class(Range), "range %s: scripted break", key))
		}
		return objectstore.ShortRange(key, offset, int(objectstore.Length(dsts)), offset+objectstore.Length(dsts[:middle]))
	}
	return f.apply(ctx, hit, Range, key, func() error {
		return f.Store.ReadScatter(ctx, key, dsts, offset, func(i int) {
			if hit != nil && hit.Effect == Flip && i == middle && len(dsts[i]) > 0 {
				dsts[i][len(dsts[i])/2] ^= 1
			}
			filled(i)
		})
	})
}

// Head is scripted.
func (f *Faults) Head(ctx context.Context, key string) (info objectstore.Info, err error) {
	hit, err := f.around(ctx, Head, key, func() (err error) {
		info, err = f.Store.Head(ctx, key)
		return err
	})
	if hit != nil && hit.Effect == Short {
		info.Size /= 2
	}
	return info, err
}

// List is scripted.
func (f *Faults) List(ctx context.Context, prefix, after string, max int) (page []objectstore.Info, more bool, err error) {
	_, err = f.around(ctx, List, prefix, func() (err error) {
		page, more, err = f.Store.List(ctx, prefix, after, max)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return page, more, nil
}

// Put is scripted.
func (f *Faults) Put(ctx context.Context, key string, src objectstore.Source, cond objectstore.Condition) (info objectstore.Info, err error) {
	_, err = f.around(ctx, Put, key, func() (err error) {
		info, err = f.Store.Put(ctx, key, src, cond)
		return err
	})
	if err != nil {
		return objectstore.Info{}, err
	}
	return info, nil
}

// Delete is scripted.
func (f *Faults) Delete(ctx context.Context, keys ...string) error {
	first := ""
	if len(keys) > 0 {
		first = keys[0]
	}
	_, err := f.around(ctx, Delete, first, func() error { return f.Store.Delete(ctx, keys...) })
	return err
}
