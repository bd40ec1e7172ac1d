package fetch

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/status"
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
