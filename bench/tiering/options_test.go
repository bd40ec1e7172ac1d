package tiering

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark/bench/calls"
	"tidemark/bench/report"
)

func TestRowsAreChosenByNumber(t *testing.T) {
	o := Options{Jar: "x", Row: "06"}
	if err := o.check(); err != nil || !o.wants("06.fetch.seq") || o.wants("03.copy.raw") {
		t.Errorf("%v", err)
	}
	for _, bad := range []Options{{Jar: "x", Row: "99"}, {Row: "06"}, {Jar: "x", Peer: calls.Peer{Libs: "dir"}}} {
		if bad.check() == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}

// TestStepsLeadToTheirRows: a single row runs what it builds on, and nothing that only others need.
func TestStepsLeadToTheirRows(t *testing.T) {
	for row, want := range map[string]string{
		"03": "warm-up, copy", "08": "warm-up, fan-out", "06": "warm-up, copy, read 1 partition, read many partitions",
		"21": "warm-up, copy, read 1 partition, cost", "11": "warm-up",
	} {
		var names []string
		for _, s := range steps {
			if s.wanted(Options{Row: row}) {
				names = append(names, s.name)
			}
		}
		if got := strings.Join(names, ", "); got != want {
			t.Errorf("row %s: %s, want %s", row, got, want)
		}
	}
}

// TestEveryNumberHasALine: what a foreign plugin is compared in, ours is too, and targets stand once.
func TestEveryNumberHasALine(t *testing.T) {
	props := filepath.Join(t.TempDir(), "props")
	if err := os.WriteFile(props, []byte("rsm.config.where={endpoint}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, peer := range []calls.Peer{{}, {Libs: "dir", Props: props}} {
		metrics := Options{Peer: peer}.metrics()
		for _, m := range metrics {
			if m.Dated != 0 && peer.Libs != "" && strings.HasSuffix(m.Name, ".s3") {
				t.Errorf("%s %s shows a dated figure beside a foreign plugin", m.Row, m.Name)
			}
			if (m.Peer == string(calls.Foreign)) && peer.Libs == "" {
				t.Errorf("%s %s waits for a foreign plugin", m.Row, m.Name)
			}
			if m.Target == nil || m.Target.Ratio {
				continue
			}
			same := slices.IndexFunc(metrics, func(o report.Metric) bool { return o.Row == m.Row && o.Name == m.Name && o.Target == m.Target })
			if metrics[same].Peer != m.Peer {
				t.Errorf("the target of %s %s stands twice", m.Row, m.Name)
			}
		}
		for _, row := range Rows {
			if calls.Built(row.Name) == "" && !slices.ContainsFunc(metrics, func(m report.Metric) bool { return m.Row == row.Name }) {
				t.Errorf("row %s has no metric", row.Name)
			}
		}
	}
}

func TestSecretsAreHidden(t *testing.T) {
	got := masked("a=b\nrsm.config.store.s3.secret.key=hunter2\nrsm.config.aws.access.key.id=me\nssl.keystore.password=p\n")
	for _, word := range []string{"hunter2", "=me", "=p"} {
		if strings.Contains(got, word) {
			t.Errorf("%q shows %q", got, word)
		}
	}
	if !strings.HasPrefix(got, "a=b\n") {
		t.Errorf("%q", got)
	}
}
