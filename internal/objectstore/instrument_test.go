package objectstore_test

import (
	"testing"

	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/telemetry"
)

func TestInstrument(t *testing.T) {
	set := telemetry.NewSet()
	s := objectstore.Instrument(storetest.NewMemory(), set)
	put(t, s, "a", "12345")
	_, _, _ = s.Get(t.Context(), "a", 10)
	_ = s.ReadRange(t.Context(), "a", make([]byte, 3), 0)
	_ = s.ReadRange(t.Context(), "a", make([]byte, 30), 0)
	_, _ = s.Head(t.Context(), "none")
	_, _, _ = s.List(t.Context(), "", "", 1)
	_ = s.Delete(t.Context(), "a")
	samples, err := set.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, m := range samples {
		got[m.Name+"{"+m.Labels+"}"] = m.Value
	}
	for name, n := range map[string]float64{
		"store_requests_total{op=put}": 1, "store_requests_total{op=get}": 1, "store_requests_total{op=range}": 2,
		"store_requests_total{op=head}": 1, "store_requests_total{op=list}": 1, "store_requests_total{op=delete}": 1,
		"store_read_bytes_total{}": 8, "store_written_bytes_total{}": 5, "store_range_seconds_count{}": 2,
		"store_errors_total{class=NotFound}": 1, "store_errors_total{class=Corrupt}": 1, "store_errors_total{class=Unknown}": 0,
	} {
		if v, ok := got["tidemark_"+name]; !ok || v != n {
			t.Errorf("%s = %v (%v), want %v", name, v, ok, n)
		}
	}
}

func TestInstrumentKeepsTheContract(t *testing.T) {
	storetest.Acceptance(t, func(*testing.T) objectstore.Store {
		return objectstore.Instrument(storetest.NewMemory(), telemetry.NewSet())
	}, storetest.Caps{Swap: true, Nesting: true, Large: 1 << 20, Rounds: 1})
}
