package fetch

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/status"
	"tidemark/internal/telemetry"
	"tidemark/remotestorage/stored"
)

// A run that stands still is asked for a second time with one GET for all of it that somebody will read, and its reader waits once, not for
// each chunk.
func TestARunIsHedgedAsAWhole(t *testing.T) {
	for name, second := range map[string]error{"second succeeds": nil, "second fails": status.Errorf(status.Transient, "503")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, f := setup(t, nil)
				ref, data := m.put(t, 1, 8*stored.MinChunkSize)
				log, _ := ref.Keys()
				s, err := f.Segment(t.Context(), ref)
				if err != nil {
					t.Fatal(err)
				}
				var asked atomic.Int32
				m.set(func(ctx context.Context, key string) error {
					switch n := asked.Add(1); {
					case key == log && n == 1:
						time.Sleep(20 * time.Second)
					case key == log && n == 2:
						return second
					}
					return nil
				})
				began := time.Now()
				p := make([]byte, len(data))
				if err := s.Read(t.Context(), p, 0); err != nil || !bytes.Equal(p, data) {
					t.Errorf("%v", err)
				}
				took := time.Since(began)
				if second == nil && (took > 2*hedgeUnknown || asked.Load() != 2) || second != nil && (took < 20*time.Second || asked.Load() < 2) {
					t.Errorf("%v and %d GETs", took, asked.Load())
				}
				time.Sleep(time.Minute) // virtual: the first ends
				synctest.Wait()
				atRest(t, f)
				f.Close(time.Minute)
			})
		})
	}
}

// When more than one GET in twenty is slow, slow ones are still hedged.
func TestDelaysDoNotHideDelays(t *testing.T) {
	var l latency
	for i := range 200 {
		if i%5 == 0 {
			l.note(time.Second)
		} else {
			l.note(15 * time.Millisecond)
		}
	}
	if after := l.after(); after != farFromMiddle*15*time.Millisecond {
		t.Errorf("hedged after %v although most take 15ms", after)
	}
}

// When the first request fails while the second is under way, the second decides, whichever way it ends; the memory of both is given back.
func TestTheFirstFailsWhileTheSecondRuns(t *testing.T) {
	for _, fails := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m, f := setup(t, nil)
			ref, data := m.put(t, 1, 3*stored.MinChunkSize)
			s, err := f.Segment(t.Context(), ref)
			if err != nil {
				t.Fatal(err)
			}
			var asked atomic.Int32
			m.set(func(context.Context, string) error {
				switch asked.Add(1) {
				case 1:
					time.Sleep(2 * hedgeUnknown)
					return status.Errorf(status.Transient, "the first")
				case 2:
					time.Sleep(3 * hedgeUnknown)
					if fails {
						return status.Errorf(status.Transient, "the second")
					}
				}
				return nil
			})
			p := make([]byte, len(data))
			if err := s.Read(t.Context(), p, 0); fails != (err != nil) || err == nil && !bytes.Equal(p, data) {
				t.Errorf("second fails %v: %v", fails, err)
			}
			synctest.Wait()
			atRest(t, f)
			f.Close(time.Minute)
		})
	}
}

// events counts the records of a logger by message.
type events struct {
	slog.Handler
	mu sync.Mutex
	n  map[string]int
}

func (e *events) Enabled(context.Context, slog.Level) bool { return true }

func (e *events) Handle(_ context.Context, r slog.Record) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.n[r.Message]++
	return nil
}

// Damage that a reader is told of is logged once, whichever request found it: alone, while a second one runs, or ahead of the sidecar.
func TestDamageIsNotedOnce(t *testing.T) {
	for _, how := range []string{"alone", "hedged", "early", "sidecar", "sidecar of another"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &memory{objects: map[string][]byte{}, reads: map[string]int{}}
				noted := &events{n: map[string]int{}}
				f := New(DefaultConfig(), m, Deps{Log: slog.New(noted), Metrics: telemetry.NewSet()})
				ref, data := m.put(t, 1, stored.MinChunkSize)
				log, side := ref.Keys()
				switch how {
				case "sidecar":
					m.objects[side][3] ^= 1
				case "sidecar of another":
					ref.Size++
				default:
					m.objects[log] = bytes.Clone(data)
					m.objects[log][7] ^= 1
				}
				if how == "alone" || how == "hedged" {
					if _, err := f.Sidecar(t.Context(), ref); err != nil {
						t.Fatal(err)
					}
				}
				if how == "hedged" {
					var asked atomic.Int32
					m.set(func(context.Context, string) error { // the first ends while the second runs
						if asked.Add(1) <= 2 {
							time.Sleep(2 * hedgeUnknown)
						}
						return nil
					})
				}
				if err := first(t.Context(), f, ref, 0, data); !status.Is(err, status.Corrupt) {
					t.Errorf("%v, want Corrupt", err)
				}
				synctest.Wait()
				time.Sleep(time.Minute)
				atRest(t, f)
				if n := noted.n["fetch.corrupt"]; n != 1 {
					t.Errorf("noted %d times", n)
				}
				f.Close(time.Minute)
			})
		})
	}
}
