package catalog_test

import (
	"strings"
	"testing"

	"tidemark/catalog"
	"tidemark/catalog/catalogtest"
	"tidemark/internal/status"
)

func TestPlan(t *testing.T) {
	c := catalogtest.NewCatalog(claim, catalog.Main, catalog.Quarantine)
	commit(t, c, 10)
	v := c.View(catalog.Main)
	r := catalog.Read(v, claim)
	bare := offerOf(1, 0, 4) // covered, but no row
	bare.Files, bare.Range.LastRow = nil, -1
	choice := catalog.Choose(r.Ledger, []catalog.Offer{offerOf(0, 10, 15), offerOf(0, 15, 20), bare}, onChain)
	u := catalog.Plan(v, r, choice, "id-1", catalog.PathSegment)
	if u.Base != v.Head || u.Tag != v.Tag || u.UUID != v.UUID || u.BaseMetadata != v.MetadataFile || u.NotBeforeMs != v.LastUpdatedMs+1 {
		t.Errorf("requirements: %+v", u)
	}
	p := u.Ledger.Progress(0)
	if u.Ledger.Seq != 2 || u.Ledger.Sequence != v.LastSequence+1 || u.Sequence != v.LastSequence+1 || p.Next != 20 || p.LastBatchBase != 19 || p.Last != 19 {
		t.Errorf("ledger: %+v", u.Ledger)
	}
	if q := u.Ledger.Progress(1); q.Next != 4 || q.Last != -1 {
		t.Errorf("partition without rows: %+v", q)
	}
	want := map[string]string{
		catalog.SummaryCommitID: "id-1", catalog.SummarySeq: "2", catalog.SummaryPath: "segment",
		catalog.SummaryChanged: "0:10-15,0:15-20,1:0-4", catalog.SummaryEmpty: "1:0-4", catalog.SummaryLedger: u.Ledger.Encode(),
	}
	for k, w := range want {
		if u.Summary[k] != w {
			t.Errorf("summary %s = %q, want %q", k, u.Summary[k], w)
		}
	}
	if u.Properties[catalog.PropertyLedger] != u.Ledger.Encode() || u.Properties[catalog.PropertyTopicID] != claim.TopicID.String() {
		t.Errorf("properties: %v", u.Properties)
	}
	if r.Ledger.Progress(0).Next != 10 {
		t.Error("the plan changed the ledger that was read")
	}
	side := catalog.PlanSide(c.View(catalog.Quarantine), u)
	if side.Base != catalog.None || side.CommitID != "id-1" || side.Summary[catalog.SummarySeq] != "2" || side.Properties[catalog.PropertyLedger] != "" {
		t.Errorf("side: %+v", side)
	}
	class := c.Apply(catalogtest.Request{
		catalog.Main: {Update: u, SnapshotID: 1}, catalog.Quarantine: {Update: side, SnapshotID: 2},
	})
	ranges := catalog.Fileless(c.View(catalog.Main))
	if class != status.OK || len(ranges) != 1 || ranges[0] != (catalog.Range{Partition: 1, End: 4}) {
		t.Errorf("%s, ranges without a file: %v", class, ranges)
	}
}

func TestPlanRefusesAPausedTable(t *testing.T) {
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "ROLLBACK") {
			t.Errorf("a plan on a paused table: %q", text)
		}
	}()
	catalog.Plan(catalog.TableView{}, catalog.Reading{Event: catalog.Rollback}, catalog.Choice{}, "x", catalog.PathEmpty)
}
