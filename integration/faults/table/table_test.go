package table

import (
	"os"
	"strings"
	"testing"
)

// A row that was added, dropped or changed and not run makes the page stale.
func TestThePageHasTheseRows(t *testing.T) {
	page, err := os.ReadFile("../../../docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	outcomes := Parse(string(page))
	delete(outcomes, "row")
	delete(outcomes, "---")
	if len(outcomes) != len(Rows) {
		t.Errorf("%d rows on the page, %d in the list", len(outcomes), len(Rows))
	}
	if Render(outcomes) != string(page) {
		t.Error("docs/faults.md is not what `make faults` writes with this list of rows: run it")
	}
}

func TestRenderAndParse(t *testing.T) {
	in, err := Read(strings.NewReader(`{"row":"S1","outcome":"pass"}
{"row":"S2","outcome":"FAIL","because":"a | b: c\nd"}
{"row":"S3","outcome":"cannot run here","because":"no server"}
`))
	if err != nil {
		t.Fatal(err)
	}
	page := Render(in)
	back := Parse(page)
	if o := back["S2"]; o.Outcome != Fail || o.Because != "a / b: c d" {
		t.Errorf("%+v", o)
	}
	if back["S1"].Outcome != Pass || back["S3"].Because != "no server" || back["S4"].Outcome != Fail {
		t.Errorf("%+v", back)
	}
	if Render(back) != page {
		t.Error("a page does not survive being read")
	}
	if text, failed := Count(in); failed != len(Rows)-2 || !strings.HasPrefix(text, "1 passed, ") {
		t.Error(text)
	}
	if _, err := Read(strings.NewReader("x\n")); err == nil {
		t.Error("garbage is an outcome")
	}
}
