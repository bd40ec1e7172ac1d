package assemble_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/cgo/assemble"
	"tidemark/cgo/assemble/assembletest"
	"tidemark/internal/status"
	"tidemark/tables"
)

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Why a table does not go on can be read from the broker.
func TestTheBrokerTellsHowItsTablesAre(t *testing.T) {
	b := assembletest.New(t)
	if _, known, err := assemble.BrokerTables(t.Context(), b.Properties); known || err != nil {
		t.Errorf("without a listener: known %v, %v", known, err)
	}
	b.Properties["http.listener"] = freeAddress(t)
	if _, _, err := assemble.BrokerTables(t.Context(), b.Properties); !status.Is(err, status.Transient) {
		t.Errorf("without a broker: %v", err)
	}
	b.Define(nil)
	b.Open()
	one := func() (s assemble.TableStatus) {
		list, known, err := assemble.BrokerTables(t.Context(), b.Properties)
		if err != nil || !known {
			t.Fatalf("known %v, %v", known, err)
		}
		if len(list) == 1 {
			s = list[0]
		}
		return s
	}
	b.Until("the table is live", func() bool { return one().State == tables.Live })
	b.Roll("a", "b")
	b.Covered(2)
	b.Until("the broker says so", func() bool { s := one(); return len(s.Partitions) == 1 && s.Partitions[0].Next == 2 })
	b.Close()
	b.Properties["tables.linger.ms"] = "600000"
	b.Open()
	b.Until("the table is live again", func() bool { return one().State == tables.Live })
	b.Roll("c")
	lost := b.Listed[len(b.Listed)-1]
	b.Properties["tables.linger.ms"] = "10"
	b.Roll("d")
	b.Close()
	lose(t, b, lost.BaseOffset) // in the store and on disk: nobody has it
	b.Open()
	b.Until("the gap is told", func() bool {
		s := one()
		return len(s.Partitions) == 1 && strings.Contains(s.Partitions[0].Reason, "GAP: offsets [2, 3)") && s.Partitions[0].WaitingSegments == 1
	})
	for path, want := range map[string]int{"/tables": 200, "/tables/": 200, "/tables/x": 404} {
		resp, err := http.Get("http://" + b.Properties["http.listener"] + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %s", path, resp.Status)
		}
	}
	resp, err := http.Post("http://"+b.Properties["http.listener"]+"/tables", "text/plain", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a write: %s", resp.Status)
	}
}

// lose takes a segment out of the list.
func lose(t *testing.T, b *assembletest.Broker, base int64) {
	t.Helper()
	kept := b.Listed[:0]
	for _, s := range b.Listed {
		if s.BaseOffset != base {
			kept = append(kept, s)
		}
	}
	b.Listed = kept
	for _, name := range b.Holds() {
		if strings.Contains(name, fmt.Sprintf("-0-%d-%d-", base, base+1)) {
			if err := os.Remove(filepath.Join(b.LogDir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
}
