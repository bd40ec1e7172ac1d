package catalog_test

import (
	"strings"
	"testing"

	"tidemark/catalog"
	"tidemark/catalog/catalogtest"
	"tidemark/internal/status"
)

var claim = catalog.Claim{ClusterID: "MkU3OEVBNTcwNTJENDM2Qg", TopicID: catalog.TopicID{9, 8, 7}, Topic: "flights"}

// offerOf is a well-formed offer of one main file.
func offerOf(partition int32, base, end int64) catalog.Offer {
	return catalog.Offer{
		Generation: catalog.FirstGeneration, LeaderEpoch: 1, Counts: catalog.Counts{Rows: end - base},
		Range: catalog.Range{Partition: partition, Base: base, End: end, BatchEpoch: 1, LastBatchBase: end - 1, LastRow: end - 1},
		Files: map[catalog.Role][]catalog.File{catalog.Main: {{URI: catalog.DataFileName(claim.TopicID, catalog.Range{
			Partition: partition, Base: base, End: end}, 1, 1, "r"), Size: 10, Rows: end - base}}},
	}
}

func onChain(int32, int64, int32) catalog.Lineage { return catalog.OnChain }

// commit commits ranges of partition 0 as the coordinator does, one commit each, and returns the last update.
func commit(t *testing.T, c *catalogtest.Catalog, ends ...int64) (u catalog.Update) {
	t.Helper()
	for _, end := range ends {
		v := c.View(catalog.Main)
		r := catalog.Read(v, claim)
		if !r.Usable() {
			t.Fatalf("before %d: %s: %s", end, r.Event, r.Detail)
		}
		choice := catalog.Choose(r.Ledger, []catalog.Offer{offerOf(0, r.Ledger.Progress(0).Next, end)}, onChain)
		u = catalog.Plan(v, r, choice, "commit-"+v.MetadataFile, catalog.PathSegment)
		if o := u.LedgerObject; o != nil {
			c.Objects[o.Name] = o.Text
		}
		request := catalogtest.Request{catalog.Main: {Update: u, SnapshotID: c.NewSnapshotID(), Add: choice.Files()[catalog.Main]}}
		if class := c.Apply(request); class != status.OK {
			t.Fatalf("commit to %d: %s", end, class)
		}
	}
	return u
}

// foreign is two appends of another writer and an expiry that keeps its last and what the tag holds.
func foreign(c *catalogtest.Catalog) {
	c.Append(catalog.Main)
	c.Append(catalog.Main)
	c.Expire(catalog.Main, 1)
}

// TestReadRule goes through the cases of the read rule: three commits, to 10, 20 and 30, then something happens.
func TestReadRule(t *testing.T) {
	const ledger = catalog.PropertyLedger
	property := func(c *catalogtest.Catalog) string { return c.View(catalog.Main).Properties[ledger] }
	heads := map[int]int64{}
	var old string // the ledger of commit 2
	cases := []struct {
		name   string
		do     func(c *catalogtest.Catalog)
		bounds map[int32]int64
		event  catalog.Event
		next   int64
		detail string
	}{
		{"normal", func(*catalogtest.Catalog) {}, nil, catalog.Normal, 30, ""},
		{"foreign append", func(c *catalogtest.Catalog) { c.Append(catalog.Main) }, nil, catalog.Normal, 30, ""},
		{"tag removed", func(c *catalogtest.Catalog) { c.RemoveTag(catalog.Main) }, nil, catalog.Normal, 30, ""},
		{"main moved back", func(c *catalogtest.Catalog) { c.SetMain(catalog.Main, heads[2]) }, nil, catalog.Rollback, 30, "ledger 2"},
		{"main moved back, property removed", func(c *catalogtest.Catalog) {
			c.SetMain(catalog.Main, heads[2])
			c.SetProperty(catalog.Main, ledger, "")
		}, nil, catalog.Rollback, 30, "ledger 3"},
		{"main moved back, older property, no tag", func(c *catalogtest.Catalog) {
			c.SetMain(catalog.Main, heads[2])
			c.SetProperty(catalog.Main, ledger, old)
			c.RemoveTag(catalog.Main)
		}, nil, catalog.Rollback, 20, "ledger 3 was committed"},
		{"main moved back, all else expired, no tag", func(c *catalogtest.Catalog) {
			c.SetMain(catalog.Main, heads[2])
			c.RemoveTag(catalog.Main)
			c.Expire(catalog.Main, 1)
		}, nil, catalog.Rollback, 30, "main stands at ledger 2"},
		{"older property", func(c *catalogtest.Catalog) { c.SetProperty(catalog.Main, ledger, old) }, nil, catalog.Repaired, 30, "ledger 2"},
		{"property removed", func(c *catalogtest.Catalog) { c.SetProperty(catalog.Main, ledger, "") }, nil, catalog.Repaired, 30, "absent"},
		{"property damaged", func(c *catalogtest.Catalog) {
			c.SetProperty(catalog.Main, ledger, "B"+property(c)[1:])
		}, nil, catalog.Repaired, 30, "CRC32C"},
		{"claim removed", func(c *catalogtest.Catalog) {
			c.SetProperty(catalog.Main, catalog.PropertyTopicID, "")
		}, nil, catalog.Repaired, 30, "claim"},
		{"all properties removed", func(c *catalogtest.Catalog) {
			for k := range c.View(catalog.Main).Properties {
				c.SetProperty(catalog.Main, k, "")
			}
		}, nil, catalog.Repaired, 30, "absent"},
		{"expired behind a foreign head", func(c *catalogtest.Catalog) {
			foreign(c)
		}, map[int32]int64{0: 29}, catalog.Expired, 30, ""},
		{"expired, newest rows unknown", func(c *catalogtest.Catalog) {
			foreign(c)
		}, map[int32]int64{}, catalog.Rollback, 30, "row 29"},
		{"expired, newest rows gone", func(c *catalogtest.Catalog) {
			foreign(c)
		}, map[int32]int64{0: 19}, catalog.Rollback, 30, "row 29"},
		{"expired, property removed, tag there", func(c *catalogtest.Catalog) {
			foreign(c)
			c.SetProperty(catalog.Main, ledger, "")
		}, map[int32]int64{0: 29}, catalog.Repaired, 30, "tagged"},
		{"expired, older property, tag there", func(c *catalogtest.Catalog) {
			foreign(c)
			c.SetProperty(catalog.Main, ledger, old)
		}, map[int32]int64{0: 29}, catalog.Repaired, 30, "older"},
		{"expired, older property, no tag", func(c *catalogtest.Catalog) {
			c.RemoveTag(catalog.Main)
			foreign(c)
			c.SetProperty(catalog.Main, ledger, old)
		}, map[int32]int64{0: 29}, catalog.Tampered, 20, "older copy"},
		{"everything lost", func(c *catalogtest.Catalog) {
			c.RemoveTag(catalog.Main)
			foreign(c)
			c.SetProperty(catalog.Main, ledger, "")
		}, nil, catalog.Tampered, 0, "no copy"},
		{"another topic", func(c *catalogtest.Catalog) {
			c.SetProperty(catalog.Main, catalog.PropertyTopic, "other")
			c.SetProperty(catalog.Main, catalog.PropertyTopicID, catalog.TopicID{1}.String())
		}, nil, catalog.Foreign, 0, "belongs to topic"},
		{"topic recreated", func(c *catalogtest.Catalog) {
			c.SetProperty(catalog.Main, catalog.PropertyTopicID, catalog.TopicID{1}.String())
		}, nil, catalog.Recreated, 0, "belongs to topic"},
		{"cluster rebuilt", func(c *catalogtest.Catalog) {
			c.SetProperty(catalog.Main, catalog.PropertyClusterID, "x")
		}, nil, catalog.Recreated, 0, "of cluster x"},
		{"ledger of another table", func(c *catalogtest.Catalog) {
			l, _ := catalog.DecodeLedger(property(c))
			l.TableUUID[3]++
			c.SetProperty(catalog.Main, ledger, l.Encode())
		}, nil, catalog.Repaired, 30, "another table"},
		{"ledger of another topic", func(c *catalogtest.Catalog) {
			l, _ := catalog.DecodeLedger(property(c))
			l.Claim.TopicID[3]++
			c.SetProperty(catalog.Main, ledger, l.Encode())
		}, nil, catalog.Repaired, 30, "another topic"},
		{"same number, other content", func(c *catalogtest.Catalog) {
			l, _ := catalog.DecodeLedger(property(c))
			l.GapCount++
			c.SetProperty(catalog.Main, ledger, l.Encode())
		}, nil, catalog.Repaired, 30, "ledger 3"},
	}
	for _, x := range cases {
		c := catalogtest.NewCatalog(claim, catalog.Main)
		commit(t, c, 10, 20)
		heads[2], old = c.View(catalog.Main).Head, property(c)
		commit(t, c, 30)
		x.do(c)
		v := c.View(catalog.Main)
		r := catalog.Read(v, claim)
		if r.Need.Bounds != (x.bounds != nil) {
			t.Errorf("%s: needs bounds: %v", x.name, r.Need.Bounds)
		}
		if r.Need.Bounds {
			if r.Usable() {
				t.Errorf("%s: usable although bounds are needed", x.name)
			}
			v.Bounds = x.bounds
			r = catalog.Read(v, claim)
		}
		if r.Event != x.event || r.Ledger.Progress(0).Next != x.next || !strings.Contains(r.Detail, x.detail) || r.Fresh {
			t.Errorf("%s: %s, next %d, %q; want %s, next %d, %q", x.name, r.Event, r.Ledger.Progress(0).Next, r.Detail, x.event, x.next, x.detail)
		}
		if r.Usable() {
			if u := commit(t, patched(c, v.Bounds), 40); u.Ledger.Seq != 4 {
				t.Errorf("%s: the next ledger is %d", x.name, u.Ledger.Seq)
			}
			if r := catalog.Read(c.View(catalog.Main), claim); r.Event != catalog.Normal || r.Ledger.Progress(0).Next != 40 {
				t.Errorf("%s: after the next commit %s: %s", x.name, r.Event, r.Detail)
			}
		}
	}
}

// patched lets commit work on a table whose reading needs bounds: the operator's append of an own empty commit.
func patched(c *catalogtest.Catalog, bounds map[int32]int64) *catalogtest.Catalog {
	if bounds == nil {
		return c
	}
	v := c.View(catalog.Main)
	v.Bounds = bounds
	r := catalog.Read(v, claim)
	r.Ledger.Seq--
	u := catalog.Plan(v, r, catalog.Choice{}, "empty", catalog.PathEmpty)
	c.Apply(catalogtest.Request{catalog.Main: {Update: u, SnapshotID: c.NewSnapshotID()}})
	return c
}

func TestReadFreshOnlyWithoutASnapshot(t *testing.T) {
	c := catalogtest.NewCatalog(claim, catalog.Main)
	r := catalog.Read(c.View(catalog.Main), claim)
	if !r.Fresh || !r.Usable() || r.Ledger.Generation != catalog.FirstGeneration || r.Ledger.Seq != 0 {
		t.Errorf("a new table: %+v", r)
	}
	v := c.View(catalog.Main)
	v.LastSequence = 4 // it had snapshots once
	if r := catalog.Read(v, claim); r.Fresh || r.Event != catalog.Tampered {
		t.Errorf("a table that lost its snapshots: %+v", r)
	}
	c.SetProperty(catalog.Main, catalog.PropertyLedger, "damaged")
	if r := catalog.Read(c.View(catalog.Main), claim); r.Fresh || r.Event != catalog.Tampered {
		t.Errorf("a new table with a damaged ledger: %+v", r)
	}
	c.SetProperty(catalog.Main, catalog.PropertyLedger, "")
	c.SetProperty(catalog.Main, catalog.PropertyTopicID, "")
	if r := catalog.Read(c.View(catalog.Main), claim); r.Fresh || r.Event != catalog.Foreign {
		t.Errorf("a table without a claim: %+v", r)
	}
	c = catalogtest.NewCatalog(claim, catalog.Main)
	c.Append(catalog.Main)
	if r := catalog.Read(c.View(catalog.Main), claim); r.Fresh || r.Event != catalog.Tampered {
		t.Errorf("a table with rows and no ledger: %+v", r)
	}
}

func TestReadLedgerObject(t *testing.T) {
	c := catalogtest.NewCatalog(claim, catalog.Main)
	v := c.View(catalog.Main)
	r := catalog.Read(v, claim)
	for p := range int32(200) {
		r.Ledger = r.Ledger.Begin(p, int64(p)*1000)
	}
	u := catalog.Plan(v, r, catalog.Choice{}, "wide", catalog.PathEmpty)
	if u.LedgerObject == nil || u.Summary[catalog.SummaryLedger] != "" || u.LedgerObject.CRC != u.Ledger.CRC() {
		t.Fatalf("a ledger of 200 partitions is not an object: %+v", u.Summary)
	}
	c.Apply(catalogtest.Request{catalog.Main: {Update: u, SnapshotID: c.NewSnapshotID()}})
	c.SetProperty(catalog.Main, catalog.PropertyLedger, "")
	for name, text := range map[string]string{"good": u.LedgerObject.Text, "absent": "", "damaged": "AA" + u.LedgerObject.Text} {
		v := c.View(catalog.Main)
		r := catalog.Read(v, claim)
		if r.Need.Object != u.LedgerObject.Name || r.Usable() {
			t.Fatalf("the object is not asked for: %+v", r)
		}
		v.Objects = map[string]string{r.Need.Object: text}
		r = catalog.Read(v, claim)
		want := catalog.Tampered
		if name == "good" {
			want = catalog.Repaired
		}
		if r.Event != want || r.Need != (catalog.Need{}) || want == catalog.Repaired && r.Ledger.Progress(199).Next != 199_000 {
			t.Errorf("%s: %s %s", name, r.Event, r.Detail)
		}
	}
}

func TestReadSurvivesALoopOfParents(t *testing.T) {
	v := catalog.TableView{Head: 1, Tag: catalog.None, Properties: catalog.ClaimProperties(claim), Snapshots: []catalog.SnapshotView{
		{ID: 1, Parent: 2}, {ID: 2, Parent: 1},
	}}
	if r := catalog.Read(v, claim); r.Event != catalog.Tampered {
		t.Errorf("%s: %s", r.Event, r.Detail)
	}
}
