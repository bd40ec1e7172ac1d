//go:build cgo && boundarytest

package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"

	"tidemark/cgo/dispatch"
	"tidemark/internal/status"
	"tidemark/internal/telemetry"
)

// The instance of the boundary tests (integration/boundary): what a call does is in the topic's name. Product builds do
// not contain it.
type scripted struct{ log *slog.Logger }

func opener(_ context.Context, req dispatch.OpenRequest, log *slog.Logger) (dispatch.Instance, error) {
	if export, ok := strings.CutPrefix(req.Properties["refuse"], "panic in "); ok {
		armed.Store(&export)
	}
	if req.Properties["refuse"] != "" {
		return nil, status.Errorf(status.Invalid, "refused: %s", req.Properties["refuse"])
	}
	log.Info("boundary.open", "node", req.NodeID)
	return scripted{log}, nil
}

// armed is the export whose next call panics.
var armed atomic.Pointer[string]

func entered(export string) {
	if p := armed.Load(); p != nil && *p == export && armed.CompareAndSwap(p, nil) {
		panic("scripted in " + export)
	}
}

func (s scripted) Copy(ctx context.Context, req dispatch.CopyRequest) ([]byte, error) {
	switch req.Segment.Topic {
	case "panic":
		panic("scripted")
	case "nil":
		var p *dispatch.CopyRequest
		return p.Segment.Custom, nil // a fault of the processor inside Go
	case "slow":
		s.log.Info("boundary.slow")
		<-ctx.Done()
		return nil, ctx.Err()
	case "missing":
		return nil, status.Errorf(status.NotFound, "object für %q is absent", req.Paths.Log)
	}
	return []byte(req.Segment.Topic), nil
}

func (s scripted) Open(_ context.Context, req dispatch.StreamRequest) (dispatch.Stream, int64, error) {
	total := req.Segment.Size
	if req.Segment.Topic == "short" {
		total++
	}
	return &scriptedStream{topic: req.Segment.Topic, left: req.Segment.Size, log: s.log}, total, nil
}

func (scripted) Delete(context.Context, dispatch.Segment) error { return nil }
func (scripted) Leadership(dispatch.LeadershipRequest)          {}
func (scripted) Facts(dispatch.FactsRequest)                    {}
func (scripted) Segments(dispatch.SegmentsRequest)              {}
func (scripted) States(dispatch.StatesRequest)                  {}
func (scripted) StatesWanted() []dispatch.StatesWanted          { return nil }
func (scripted) Close(context.Context) error                    { return nil }

func (scripted) Wanted() []dispatch.TopicPartition {
	return []dispatch.TopicPartition{{TopicID: [16]byte{1}, Topic: "wanted", Partition: 4}}
}

func (scripted) Samples() ([]telemetry.Sample, error) {
	return []telemetry.Sample{{Name: "tidemark_scripted", Labels: "k=v", Help: "what the test scripts", Value: 42}}, nil
}

// scriptedStream is bytes that count up.
type scriptedStream struct {
	topic string
	left  int64
	next  byte
	log   *slog.Logger
}

func (s *scriptedStream) Next(ctx context.Context, dst []byte) (int, error) {
	if s.topic == "slow" {
		s.log.Info("boundary.slow")
		<-ctx.Done()
		return 0, errors.Join(ctx.Err())
	}
	if s.left == 0 {
		return 0, io.EOF
	}
	dst = dst[:min(int64(len(dst)), s.left)]
	for i := range dst {
		dst[i] = s.next
		s.next++
	}
	s.left -= int64(len(dst))
	return len(dst), nil
}

func (s *scriptedStream) Close() {}
