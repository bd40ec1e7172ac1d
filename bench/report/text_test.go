package report

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"
	"testing"
)

func TestCSVHasTheHeaderAndOneRecordPerMetric(t *testing.T) {
	r := filled()
	r.Fail("restart", "the broker did not stop")
	var b bytes.Buffer
	if err := CSV(&b, r.Rows()); err != nil {
		t.Fatal(err)
	}
	if first, _, _ := strings.Cut(b.String(), "\n"); first != "row,metric,unit,ours,peer,theirs,ratio,ratio_min,ratio_max,target,met" {
		t.Errorf("the header is %q", first)
	}
	records, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"produce", "rate", "MB/s", "85", "vanilla", "100", "0.85", "0.8", "0.891089", "", ""},
		{"produce", "cpu", "s/GB", "2.1", "vanilla", "2.1", "1", "0.952381", "1.1", "", ""},
		{"restart", "total", "s", "", "vanilla", "", "", "", "", "", ""},
		{"copy", "lag", "s", "1.5", "", "", "", "", "", "", ""},
	}
	if !slices.EqualFunc(records[1:], want, slices.Equal) {
		t.Errorf("got %q\nwant %q", records[1:], want)
	}
}

func TestPageSaysWhereWeLoseFirst(t *testing.T) {
	r := filled()
	var b bytes.Buffer
	p := Page{Title: "Benchmark", Label: "short", Summary: "Three rounds.", Ours: "Tidemark", Rows: r.Rows(),
		Sections: []Section{{Title: "Machine", Text: "two cores"}}}
	if err := p.Markdown(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	var at []int
	for _, part := range []string{"(*short*)", "## Where we lose", "| produce | rate | MB/s | more | 85.0 (80.0 to 90.0) | vanilla | 100 (99.0 to 101) | **0.85** (0.80 to 0.89) | worse |  |  |",
		"## All rows", "| produce | cpu |", "no difference", "| restart | total |", "## Every round", "80.0, 90.0, 85.0", "## Machine", "two cores"} {
		i := strings.Index(page, part)
		if i < 0 {
			t.Fatalf("the page has no %q:\n%s", part, page)
		}
		at = append(at, i)
	}
	if !slices.IsSorted(at) {
		t.Errorf("the parts of the page are in another order: %v\n%s", at, page)
	}
	if strings.Contains(page, "without a number") {
		t.Error("a page without failures lists them")
	}
}

func TestFailureShowsNoNumberAnywhere(t *testing.T) {
	r := New("vanilla", metricsForTest[:1])
	for round := range 3 {
		r.Add("produce", "rate", Ours, round, 7777)
		r.Add("produce", "rate", Peer, round, 7777)
	}
	r.Fail("produce", "offset 5 differs")
	var page, table bytes.Buffer
	if err := (Page{Rows: r.Rows()}).Markdown(&page); err != nil {
		t.Fatal(err)
	}
	if err := CSV(&table, r.Rows()); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{page.String(), table.String(), r.Rows()[0].Line()} {
		if strings.Contains(out, "7777") {
			t.Errorf("a failed row has a number:\n%s", out)
		}
	}
	if !strings.Contains(page.String(), "offset 5 differs") || !strings.Contains(r.Rows()[0].Line(), "offset 5 differs") {
		t.Error("the reason is not told")
	}
}

func TestLines(t *testing.T) {
	rows := filled().Rows()
	for i, want := range []string{"ratio 0.85 (0.80 to 0.89)  worse", "no difference", "better", "ours only"} {
		if !strings.Contains(rows[i].Line(), want) {
			t.Errorf("%q has no %q", rows[i].Line(), want)
		}
	}
}

func TestDatedFiguresHaveNoRatio(t *testing.T) {
	r := New("vanilla", []Metric{{Row: "copy", Name: "cpu", Unit: "s/GB", Peer: "incumbent", Dated: 9.7, Target: Value(4)}})
	r.Add("copy", "cpu", Ours, 1, 4.5)
	row := r.Rows()[0]
	var table, page bytes.Buffer
	if err := CSV(&table, r.Rows()); err != nil {
		t.Fatal(err)
	}
	if err := (Page{Rows: r.Rows()}).Markdown(&page); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(table.String(), "copy,cpu,s/GB,4.5,incumbent (not the same run),9.7,,,,<= 4,no\n") {
		t.Errorf("table:\n%s", table.String())
	}
	if !strings.Contains(page.String(), "9.70 *not the same run*") || !strings.Contains(row.Line(), "not the same run; target <= 4: no") {
		t.Errorf("%s\n%s", row.Line(), page.String())
	}
}
