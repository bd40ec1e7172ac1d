package dispatch

import (
	"context"
	"sync"
	"time"
)

// operation is the cancellation context of a call, or of a stream and its calls. It outlives its handle for as long
// as a stream uses it.
type operation struct {
	inst   *instance
	err    error // why the operation has no instance: answered by each of its calls
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	refs    int
	started time.Time // of the oldest running call, zero = none
	running int
}

// OpNew makes an operation. It never fails for a wrong instance: the calls of the operation then answer what is
// wrong with it. The result is 0 only when too many operations are open.
func (p *Process) OpNew(inst Handle) (h Handle) {
	op := &operation{refs: 1}
	op.inst, op.err = p.instances.get(inst)
	parent := context.Background()
	if op.err == nil {
		parent = op.inst.ctx
	}
	op.ctx, op.cancel = context.WithCancelCause(parent)
	h, err := p.ops.put(op)
	if err != nil {
		op.cancel(nil)
		p.log.Error("operation.refused", "error", err)
		return 0
	}
	return h
}

// OpCancel ends the calls of an operation, those that run and those that come. It never blocks, and is legal at any
// time, also for a handle that is closed.
func (p *Process) OpCancel(h Handle) {
	if op, err := p.ops.get(h); err == nil {
		op.cancel(errOpCancelled)
	}
}

// OpFree ends the handle. A stream of the operation goes on.
func (p *Process) OpFree(h Handle) {
	if op, err := p.ops.take(h); err == nil {
		op.release()
	}
}

func (op *operation) retain() {
	op.mu.Lock()
	op.refs++
	op.mu.Unlock()
}

func (op *operation) release() {
	op.mu.Lock()
	op.refs--
	last := op.refs == 0
	op.mu.Unlock()
	if last {
		op.cancel(nil) // frees what the parent context keeps for it
	}
}

func (op *operation) begin(now time.Time) {
	op.mu.Lock()
	defer op.mu.Unlock()
	if op.running++; op.running == 1 {
		op.started = now
	}
}

func (op *operation) end() {
	op.mu.Lock()
	defer op.mu.Unlock()
	if op.running--; op.running == 0 {
		op.started = time.Time{}
	}
}

// age is how long the operation has been in a call.
func (op *operation) age(now time.Time) time.Duration {
	op.mu.Lock()
	defer op.mu.Unlock()
	if op.started.IsZero() {
		return 0
	}
	return now.Sub(op.started)
}

// run calls f within the operation, its deadline and its instance.
func (p *Process) run(h Handle, where string, deadline time.Duration, f func(context.Context, *operation) error) error {
	op, err := p.ops.get(h)
	if err != nil {
		return err
	}
	if op.err != nil {
		return op.err
	}
	if err := op.inst.enter(); err != nil {
		return err
	}
	defer op.inst.leave()
	op.retain()
	defer op.release()
	op.begin(p.now())
	defer op.end()
	if err := op.ctx.Err(); err != nil {
		return settle(op.ctx, err)
	}
	ctx, cancel := context.WithTimeout(op.ctx, deadline)
	defer cancel()
	return settle(ctx, op.inst.protect(where, func() error { return f(ctx, op) }))
}
