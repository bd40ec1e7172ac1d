package dispatch

import (
	"context"
	"testing"
	"time"

	"tidemark/internal/status"
)

func TestCancelBefore(t *testing.T) {
	p, h := open(t, 1, &fake{copy: func(context.Context, CopyRequest) ([]byte, error) {
		t.Error("the instance was called")
		return nil, nil
	}})
	op := p.OpNew(h)
	p.OpCancel(op)
	_, err := p.Copy(op, buildCopy(testCopy))
	wantClass(t, "cancel before", err, status.Cancelled)
	p.OpFree(op)
	p.OpCancel(op) // after free: harmless
	_, err = p.Copy(op, buildCopy(testCopy))
	wantClass(t, "copy after free", err, status.Closed)
	p.OpCancel(0)
	_, err = p.Copy(0, buildCopy(testCopy))
	wantClass(t, "zero handle", err, status.Invalid)
}

func TestCancelDuring(t *testing.T) {
	running := make(chan struct{}, 1)
	p, h := open(t, 1, &fake{copy: func(ctx context.Context, r CopyRequest) ([]byte, error) {
		running <- struct{}{}
		return untilCancelled(ctx, r)
	}})
	op := p.OpNew(h)
	defer p.OpFree(op)
	result := make(chan error)
	go func() { _, err := p.Copy(op, buildCopy(testCopy)); result <- err }()
	<-running
	p.OpCancel(op)
	p.OpCancel(op)
	wantClass(t, "cancel during", <-result, status.Cancelled)
}

func TestCancelAfterKeepsTheResult(t *testing.T) {
	var p *Process
	var op Handle
	f := &fake{copy: func(context.Context, CopyRequest) ([]byte, error) {
		p.OpCancel(op) // arrives when the segment is already stored
		return []byte("stored"), nil
	}}
	var h Handle
	p, h = open(t, 1, f)
	op = p.OpNew(h)
	defer p.OpFree(op)
	custom, err := p.Copy(op, buildCopy(testCopy))
	if err != nil || string(custom) != "stored" {
		t.Errorf("%q %v", custom, err)
	}
}

func TestClassesAtTheEndOfAContext(t *testing.T) {
	given := func(err error) (*Process, Handle) {
		return open(t, 1, &fake{copy: func(ctx context.Context, _ CopyRequest) ([]byte, error) {
			<-ctx.Done()
			if err != nil {
				return nil, err
			}
			return nil, ctx.Err()
		}})
	}
	short := testCopy
	short.Deadline = 5 * time.Millisecond
	cases := []struct {
		name string
		err  error
		want status.Class
	}{
		{"deadline", nil, status.Transient},
		{"deadline told as cancelled", context.Canceled, status.Transient},
		{"damage found meanwhile", status.Errorf(status.Corrupt, "bad"), status.Corrupt},
		{"unknown outcome", status.Errorf(status.Unknown, "sent"), status.Unknown},
	}
	for _, c := range cases {
		p, h := given(c.err)
		op := p.OpNew(h)
		_, err := p.Copy(op, buildCopy(short))
		wantClass(t, c.name, err, c.want)
		p.OpFree(op)
	}
}

func TestOldestOperation(t *testing.T) {
	running := make(chan struct{})
	p, h := open(t, 1, &fake{copy: func(ctx context.Context, r CopyRequest) ([]byte, error) {
		close(running)
		return untilCancelled(ctx, r)
	}})
	op := p.OpNew(h)
	result := make(chan error)
	go func() { _, err := p.Copy(op, buildCopy(testCopy)); result <- err }()
	<-running
	began := time.Now()
	p.now = func() time.Time { return began.Add(time.Hour) }
	if age := p.oldest(); age < 59*time.Minute {
		t.Errorf("oldest = %v", age)
	}
	p.OpCancel(op)
	<-result
	if age := p.oldest(); age != 0 {
		t.Errorf("oldest = %v after the call", age)
	}
	p.OpFree(op)
}
