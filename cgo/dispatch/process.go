package dispatch

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/internal/status"
)

// How much may be open at once. A broker has some hundred threads that call; these are far above, and bound what a
// leak on the other side can take.
const (
	maxInstances = 1 << 8
	maxOps       = 1 << 16
	maxStreams   = 1 << 16
)

// quickDeadline bounds calls that do no I/O and therefore carry no deadline of their own.
const quickDeadline = 10 * time.Second

// Config is what a process needs from its host: the library or the sidecar.
type Config struct {
	Version string // of this build; a jar of another version is refused
	Open    Opener
	// Slabs provides count ranges of size bytes, once. The memory must outlive the process' last reader.
	Slabs func(count, size int) ([][]byte, error)
	// Probe adds host-specific lines to the health report; nil = none. It must not block.
	Probe func() []Fact
	// Tune applies the process-wide runtime settings at Init; nil = [Tune].
	Tune func(InitRequest) error
}

// Process is everything of one Go runtime that the broker's side can reach.
type Process struct {
	cfg  Config
	now  func() time.Time
	ring *logRing
	log  *slog.Logger

	instances *table[*instance]
	ops       *table[*operation]
	streams   *table[*stream]
	panics    atomic.Int64
	started   time.Time

	mu    sync.Mutex // serialises Init
	init  *InitRequest
	slabP atomic.Pointer[pool]
}

// New makes a process that accepts nothing but Init and log polls until Init succeeded.
func New(cfg Config) *Process {
	p := &Process{
		cfg:       cfg,
		now:       time.Now,
		ring:      newLogRing(),
		instances: newTable[*instance]("instance", tagInstance, maxInstances),
		ops:       newTable[*operation]("operation", tagOp, maxOps),
		streams:   newTable[*stream]("stream", tagStream, maxStreams),
	}
	p.started = p.now()
	p.log = slog.New(p.ring.handler())
	return p
}

func (p *Process) slabs() *pool { return p.slabP.Load() }

// Open configures an instance. Its error text is complete: it lists all faults of the configuration.
func (p *Process) Open(frame []byte) (h Handle, err error) {
	defer p.guard("open", &err)
	req, err := decodeOpen(frame)
	if err != nil {
		return 0, err
	}
	if p.slabs() == nil {
		return 0, status.Errorf(status.Invalid, "open before init")
	}
	req.Version = p.cfg.Version
	ctx, cancel := context.WithTimeout(context.Background(), req.Deadline)
	defer cancel()
	impl, err := p.cfg.Open(ctx, req, p.log)
	if err != nil {
		return 0, settle(ctx, err)
	}
	h, err = p.instances.put(newInstance(p, req.NodeID, impl))
	if err != nil {
		_ = impl.Close(ctx)
		return 0, err
	}
	return h, nil
}

// Close ends an instance: new calls are refused, running ones cancelled and waited for until the deadline, streams
// closed. A second close answers Closed.
func (p *Process) Close(h Handle, deadline time.Duration) (err error) {
	defer p.guard("close", &err)
	i, err := p.instances.take(h)
	if err != nil {
		return err
	}
	return i.close(min(max(deadline, 100*time.Millisecond), maxDeadline))
}

// Copy stores a segment and returns its custom metadata.
func (p *Process) Copy(op Handle, frame []byte) (custom []byte, err error) {
	defer p.guard("copy", &err)
	req, err := decodeCopy(frame)
	if err != nil {
		return nil, err
	}
	err = p.run(op, "copy", req.Deadline, func(ctx context.Context, op *operation) (err error) {
		custom, err = op.inst.impl.Copy(ctx, req)
		return err
	})
	return custom, err
}

// Delete makes a segment unwanted.
func (p *Process) Delete(op Handle, frame []byte) (err error) {
	defer p.guard("delete", &err)
	req, err := decodeDelete(frame)
	if err != nil {
		return err
	}
	return p.run(op, "delete", req.Deadline, func(ctx context.Context, op *operation) error {
		return op.inst.impl.Delete(ctx, req.Segment)
	})
}

// Leadership passes on which partitions the broker leads.
func (p *Process) Leadership(inst Handle, frame []byte) (err error) {
	defer p.guard("leadership", &err)
	req, err := decodeLeadership(frame)
	if err != nil {
		return err
	}
	i, err := p.instances.get(inst)
	if err != nil {
		return err
	}
	if err := i.enter(); err != nil {
		return err
	}
	defer i.leave()
	return i.protect("leadership", func() error { i.impl.Leadership(req); return nil })
}

// Call is the rare rest: facts, wanted lists, segment lists and states, by the kind of the frame. The reply is a frame, or nil.
func (p *Process) Call(op Handle, frame []byte) (reply []byte, err error) {
	defer p.guard("call", &err)
	kind, _, err := frameKind(frame)
	if err != nil {
		return nil, err
	}
	var f func(Instance)
	switch kind {
	case KindFacts:
		req, err := decodeFacts(frame)
		if err != nil {
			return nil, err
		}
		f = func(i Instance) { i.Facts(req) }
	case KindWanted:
		if err := decodeWanted(frame); err != nil {
			return nil, err
		}
		f = func(i Instance) { reply = encodeWanted(i.Wanted(), i.StatesWanted()) }
	case KindSegments:
		req, err := decodeSegments(frame)
		if err != nil {
			return nil, err
		}
		f = func(i Instance) { i.Segments(req) }
	case KindStates:
		req, err := decodeStates(frame)
		if err != nil {
			return nil, err
		}
		f = func(i Instance) { i.States(req) }
	default:
		return nil, status.Errorf(status.Invalid, "no call takes a message of kind %d", kind)
	}
	err = p.run(op, "call", quickDeadline, func(_ context.Context, op *operation) error { f(op.inst.impl); return nil })
	return reply, err
}
