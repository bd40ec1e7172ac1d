package dispatch

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tidemark/internal/status"
	"tidemark/internal/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is an instance whose methods are the test's.
type fake struct {
	copy    func(context.Context, CopyRequest) ([]byte, error)
	open    func(context.Context, StreamRequest) (Stream, int64, error)
	seen    chan any // leadership, facts, segments
	closed  atomic.Int64
	samples func() []telemetry.Sample
}

func (f *fake) Copy(ctx context.Context, r CopyRequest) ([]byte, error) { return f.copy(ctx, r) }
func (f *fake) Open(ctx context.Context, r StreamRequest) (Stream, int64, error) {
	return f.open(ctx, r)
}
func (f *fake) Delete(context.Context, Segment) error { return nil }
func (f *fake) Leadership(r LeadershipRequest)        { f.seen <- r }
func (f *fake) Facts(r FactsRequest)                  { f.seen <- r }
func (f *fake) Segments(r SegmentsRequest)            { f.seen <- r }
func (f *fake) States(r StatesRequest)                { f.seen <- r }
func (f *fake) StatesWanted() []StatesWanted          { return []StatesWanted{testQuestion} }
func (f *fake) Wanted() []TopicPartition              { return []TopicPartition{testPartition} }
func (f *fake) Close(context.Context) error           { f.closed.Add(1); return nil }
func (f *fake) Samples() ([]telemetry.Sample, error) {
	if f.samples == nil {
		return nil, nil
	}
	return f.samples(), nil
}

// untilCancelled blocks as a slow store does.
func untilCancelled(ctx context.Context, _ CopyRequest) ([]byte, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func initFor(slabs int) InitRequest {
	r := testInit
	r.CrashFile, r.SlabCount, r.SlabSize = "", slabs, minSlab
	return r
}

// start makes an initialised process with slabs of minSlab bytes.
func start(t *testing.T, slabs int, opener Opener) *Process {
	t.Helper()
	old := slog.Default()
	t.Cleanup(func() { slog.SetDefault(old) })
	p := New(Config{
		Version: testInit.Version,
		Open:    opener,
		Tune:    func(InitRequest) error { return nil },
		Slabs: func(count, size int) ([][]byte, error) {
			out := make([][]byte, count)
			for i := range out {
				out[i] = make([]byte, size)
			}
			return out, nil
		},
	})
	if err := p.Init(buildInit(initFor(slabs))); err != nil {
		t.Fatal(err)
	}
	return p
}

// open makes a process with one instance f; at the end of the test all its slabs must be back.
func open(t *testing.T, slabs int, f *fake) (*Process, Handle) {
	t.Helper()
	f.seen = make(chan any, 10)
	p := start(t, slabs, func(context.Context, OpenRequest, *slog.Logger) (Instance, error) { return f, nil })
	h, err := p.Open(buildOpen(testOpen, "store"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(h, 10*time.Second); err != nil && !status.Is(err, status.Closed) {
			t.Error(err)
		}
		if n := p.slabs().inUse(); n != 0 || p.streams.len() != 0 || p.instances.len() != 0 {
			t.Errorf("left over: %d slabs, %d streams, %d instances", n, p.streams.len(), p.instances.len())
		}
	})
	return p, h
}

func wantClass(t *testing.T, what string, err error, c status.Class) {
	t.Helper()
	if status.Of(err) != c {
		t.Errorf("%s: %v %v, want %v", what, status.Of(err), err, c)
	}
}

func TestOpen(t *testing.T) {
	var got OpenRequest
	p := start(t, 1, func(_ context.Context, r OpenRequest, _ *slog.Logger) (Instance, error) {
		got = r
		if r.Properties["store"] == "panic" {
			panic("opener")
		}
		return nil, status.Errorf(status.Invalid, "unknown key %q", "stoer")
	})
	_, err := p.Open(buildOpen(testOpen, "store", "store.dir"))
	wantClass(t, "open", err, status.Invalid)
	if got.NodeID != 7 || got.Properties["store.dir"] != "/srv/tiered" || got.Version != testInit.Version {
		t.Errorf("request = %+v", got)
	}
	bad := testOpen
	bad.Properties = map[string]string{"store": "panic"}
	_, err = p.Open(buildOpen(bad, "store"))
	wantClass(t, "panic in the opener", err, status.Internal)
	_, err = New(Config{}).Open(buildOpen(testOpen))
	wantClass(t, "open before init", err, status.Invalid)
}

func TestCallsReachTheInstance(t *testing.T) {
	f := &fake{copy: func(_ context.Context, r CopyRequest) ([]byte, error) {
		return []byte(r.Paths.Log), nil
	}}
	p, h := open(t, 1, f)
	op := p.OpNew(h)
	defer p.OpFree(op)
	custom, err := p.Copy(op, buildCopy(testCopy))
	if err != nil || string(custom) != testCopy.Paths.Log {
		t.Errorf("copy: %q %v", custom, err)
	}
	if err := p.Delete(op, buildDelete(testDelete)); err != nil {
		t.Error(err)
	}
	if err := p.Leadership(h, buildLeadership(testLeadership)); err != nil {
		t.Error(err)
	}
	if got := (<-f.seen).(LeadershipRequest); len(got.Leaders) != 2 {
		t.Errorf("leadership = %+v", got)
	}
	for _, frame := range [][]byte{buildFacts(testFacts), buildSegments(testSegments), buildStates(testStates)} {
		if reply, err := p.Call(op, frame); err != nil || reply != nil {
			t.Errorf("call: %x %v", reply, err)
		}
		<-f.seen
	}
	reply, err := p.Call(op, buildWanted())
	if err != nil {
		t.Fatal(err)
	}
	if kind, _, err := frameKind(reply); kind != KindWantedList || err != nil {
		t.Errorf("wanted: kind %d, %v", kind, err)
	}
	_, err = p.Call(op, buildCopy(testCopy))
	wantClass(t, "call with a copy", err, status.Invalid)
	_, err = p.Copy(op, []byte("x"))
	wantClass(t, "copy with a bad frame", err, status.Invalid)
}

func TestCloseCancelsDrainsAndAnswersClosed(t *testing.T) {
	running := make(chan struct{})
	f := &fake{copy: func(ctx context.Context, r CopyRequest) ([]byte, error) {
		close(running)
		return untilCancelled(ctx, r)
	}}
	p, h := open(t, 1, f)
	op := p.OpNew(h)
	result := make(chan error)
	go func() { _, err := p.Copy(op, buildCopy(testCopy)); result <- err }()
	<-running
	done := make(chan error)
	go func() { done <- p.Close(h, time.Minute) }()
	wantClass(t, "copy during close", <-result, status.Closed)
	wantClass(t, "close", <-done, status.OK)
	if f.closed.Load() != 1 {
		t.Errorf("instance closed %d times", f.closed.Load())
	}
	wantClass(t, "second close", p.Close(h, time.Second), status.Closed)
	_, err := p.Copy(op, buildCopy(testCopy))
	wantClass(t, "copy after close", err, status.Closed)
	late := p.OpNew(h)
	_, err = p.Copy(late, buildCopy(testCopy))
	wantClass(t, "new operation after close", err, status.Closed)
	wantClass(t, "leadership after close", p.Leadership(h, buildLeadership(testLeadership)), status.Closed)
	wantClass(t, "foreign handle", p.Close(op, time.Second), status.Invalid)
	p.OpFree(op)
	p.OpFree(op)
	p.OpFree(late)
}

func TestCloseDoesNotWaitForever(t *testing.T) {
	running, release := make(chan struct{}), make(chan struct{})
	f := &fake{copy: func(context.Context, CopyRequest) ([]byte, error) {
		close(running)
		<-release
		return nil, nil
	}}
	p, h := open(t, 1, f)
	op := p.OpNew(h)
	result := make(chan error)
	go func() { _, err := p.Copy(op, buildCopy(testCopy)); result <- err }()
	<-running
	err := p.Close(h, 100*time.Millisecond)
	wantClass(t, "close with a stuck call", err, status.Transient)
	if !strings.Contains(err.Error(), "1 calls still run") {
		t.Error(err)
	}
	close(release)
	wantClass(t, "a result that was complete wins", <-result, status.OK)
	p.OpFree(op)
}
