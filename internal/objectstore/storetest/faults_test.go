package storetest

import (
	"context"
	"testing"
	"time"

	"tidemark/internal/objectstore"
	"tidemark/internal/status"
)

func TestFaultsStrikeWhatTheScriptNames(t *testing.T) {
	f := Faulty(NewMemory(),
		Fault{Op: Put, Key: "a", Nth: 2, Effect: LostReply},
		Fault{Op: Put, Nth: 3, Times: 2, Class: status.Throttled},
		Fault{Op: Get, Effect: Flip},
		Fault{Op: Get, Nth: 2, Effect: Short},
		Fault{Op: Range, Effect: Short},
		Fault{Op: Head, Effect: Stall})
	s := &suite{T: t, ctx: context.Background(), store: f}
	for i, want := range []status.Class{status.OK, status.Unknown, status.Throttled, status.Throttled, status.OK} {
		_, err := s.put("a", string(rune('0'+i)), objectstore.Condition{})
		s.want("put", err, want)
		if i == 1 {
			data, _, _ := f.Store.Get(s.ctx, "a", 10)
			if string(data) != "1" {
				t.Errorf("a put whose reply was lost left %q", data)
			}
		}
	}
	s.mustPut("b", "1234")
	for _, want := range []string{"1224", "12", "1234"} {
		if want == "1224" {
			want = "12" + string(rune('3'^1)) + "4"
		}
		if got := s.content("b"); got != want {
			t.Errorf("get = %q, want %q", got, want)
		}
	}
	s.want("range", f.ReadRange(s.ctx, "b", make([]byte, 4), 0), status.Corrupt)
	ctx, cancel := context.WithTimeout(s.ctx, time.Millisecond)
	defer cancel()
	_, err := f.Head(ctx, "b")
	s.want("head", err, status.Transient)
	if f.Count(Put) != 6 || len(f.Calls()) != 11 {
		t.Errorf("calls = %v", f.Calls())
	}
	ran := false
	f.Add(Fault{Effect: Pass, Run: func() { ran = true }})
	if s.content("b") != "1234" || !ran {
		t.Error("Pass with Run")
	}
	f.Add(Fault{Times: -1})
	f.Heal()
	s.content("b")
}
