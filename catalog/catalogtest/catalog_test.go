package catalogtest

import (
	"testing"

	"tidemark/catalog"
	"tidemark/internal/status"
)

var someClaim = catalog.Claim{ClusterID: "c", TopicID: catalog.TopicID{1}, Topic: "t"}

// request is an empty commit of both tables on a load.
func request(c *Catalog, views map[catalog.Role]catalog.TableView) Request {
	main := catalog.Plan(views[catalog.Main], catalog.Read(views[catalog.Main], someClaim), catalog.Choice{}, "id", catalog.PathEmpty)
	return Request{
		catalog.Main:       {Update: main, SnapshotID: c.NewSnapshotID(), Add: []catalog.File{{URI: "m"}}},
		catalog.Quarantine: {Update: catalog.PlanSide(views[catalog.Quarantine], main), SnapshotID: c.NewSnapshotID(), Add: []catalog.File{{URI: "q"}}},
	}
}

// TestApplyHoldsRequests changes one thing between load and arrival: the whole request is refused or applied.
func TestApplyHoldsRequests(t *testing.T) {
	cases := map[string]struct {
		change func(*Catalog)
		want   status.Class
	}{
		"nothing":            {func(*Catalog) {}, status.OK},
		"a property":         {func(c *Catalog) { c.SetProperty(catalog.Main, "a", "b") }, status.OK},
		"head of main":       {func(c *Catalog) { c.Append(catalog.Main) }, status.Conflict},
		"head of quarantine": {func(c *Catalog) { c.Append(catalog.Quarantine) }, status.Conflict},
		"tag":                {func(c *Catalog) { c.RemoveTag(catalog.Main) }, status.Conflict},
		"table":              {func(c *Catalog) { c.Replace(catalog.Quarantine, someClaim) }, status.Conflict},
		"head, unheeded":     {func(c *Catalog) { c.IgnoreHead = true; c.Append(catalog.Main) }, status.OK},
		"tag, unheeded":      {func(c *Catalog) { c.IgnoreTag = true; c.RemoveTag(catalog.Main) }, status.OK},
	}
	for name, x := range cases {
		c := NewCatalog(someClaim, catalog.Main, catalog.Quarantine)
		c.Apply(request(c, c.Load()))
		r := request(c, c.Load())
		x.change(c)
		before := c.Load()
		if got := c.Apply(r); got != x.want {
			t.Errorf("%s changed: %s, want %s", name, got, x.want)
		}
		for role, v := range c.Load() {
			if moved := v.Head != before[role].Head; moved != (x.want == status.OK) {
				t.Errorf("%s changed: main of %s moved: %v", name, role, moved)
			}
		}
		if x.want == status.OK {
			if got := c.Apply(r); got == status.OK {
				t.Errorf("%s: the same request was applied twice", name)
			}
		}
	}
}

func TestABAOnTheHead(t *testing.T) {
	c := NewCatalog(someClaim, catalog.Main, catalog.Quarantine)
	c.Apply(request(c, c.Load()))
	home := c.View(catalog.Main).Head
	late := Request{catalog.Main: request(c, c.Load())[catalog.Main]}
	c.Apply(request(c, c.Load()))
	c.SetMain(catalog.Main, home)
	if got := c.Apply(late); got != status.Conflict {
		t.Errorf("a request on a head that was moved back is answered %s", got)
	}
	c.IgnoreTag = true
	if got := c.Apply(late); got != status.OK {
		t.Errorf("without the tag nothing tells, but the answer is %s", got)
	}
}

func TestExpireDeletesWhatNobodyHolds(t *testing.T) {
	c := NewCatalog(someClaim, catalog.Main)
	first := c.Append(catalog.Main, catalog.File{URI: "a"})
	c.Append(catalog.Main, catalog.File{URI: "b"})
	c.SetMain(catalog.Main, first)
	c.Append(catalog.Main, catalog.File{URI: "c"})
	c.Expire(catalog.Main, 1)
	v := c.View(catalog.Main)
	if len(v.Snapshots) != 1 || len(c.Files(catalog.Main, v.Head)) != 2 || !c.Deleted["b"] || c.Deleted["a"] || c.Deleted["c"] {
		t.Errorf("snapshots %v, deleted %v", v.Snapshots, c.Deleted)
	}
	if _, ok := c.tables[catalog.Main].find(first); ok {
		t.Error("the parent was kept")
	}
	if got := c.Apply(Request{catalog.Role("statement"): {}}); got != status.NotFound {
		t.Errorf("a table that is not there: %s", got)
	}
}
