package catalog_test

import (
	"testing"

	"tidemark/catalog"
	"tidemark/catalog/catalogtest"
	"tidemark/internal/status"
)

// TestNext crosses what happened to the table since the attempt with the answer it got.
func TestNext(t *testing.T) {
	const attempt = 77
	situations := map[string]func(*catalogtest.Catalog, catalogtest.Request){
		"nothing":      func(*catalogtest.Catalog, catalogtest.Request) {},
		"applied":      func(c *catalogtest.Catalog, r catalogtest.Request) { c.Apply(r) },
		"head moved":   func(c *catalogtest.Catalog, _ catalogtest.Request) { c.Append(catalog.Main) },
		"tag moved":    func(c *catalogtest.Catalog, _ catalogtest.Request) { c.RemoveTag(catalog.Main) },
		"metadata":     func(c *catalogtest.Catalog, _ catalogtest.Request) { c.SetProperty(catalog.Main, "owner", "me") },
		"other table":  func(c *catalogtest.Catalog, _ catalogtest.Request) { c.Replace(catalog.Main, claim) },
		"same by B":    func(c *catalogtest.Catalog, _ catalogtest.Request) { commit(t, c, 20) },
		"farther by B": func(c *catalogtest.Catalog, _ catalogtest.Request) { commit(t, c, 25) },
		"less by B":    func(c *catalogtest.Catalog, _ catalogtest.Request) { commit(t, c, 15) },
		"applied, then more": func(c *catalogtest.Catalog, r catalogtest.Request) {
			c.Apply(r)
			c.Append(catalog.Main)
			commit(t, c, 30)
		},
		"applied, then expired": func(c *catalogtest.Catalog, r catalogtest.Request) {
			c.Apply(r)
			commit(t, c, 30)
			c.Expire(catalog.Main, 1)
		},
		"applied, then moved back": func(c *catalogtest.Catalog, r catalogtest.Request) {
			c.Apply(r)
			c.SetMain(catalog.Main, r[catalog.Main].Update.Base)
		},
	}
	landed := map[string]bool{
		"applied": true, "same by B": true, "farther by B": true, "applied, then more": true, "applied, then expired": true,
		"applied, then moved back": true,
	}
	for name, happen := range situations {
		for _, class := range status.Classes() {
			c := catalogtest.NewCatalog(claim, catalog.Main)
			commit(t, c, 10)
			v := c.View(catalog.Main)
			r := catalog.Read(v, claim)
			choice := catalog.Choose(r.Ledger, []catalog.Offer{offerOf(0, 10, 20)}, onChain)
			u := catalog.Plan(v, r, choice, "attempt", catalog.PathSegment)
			happen(c, catalogtest.Request{catalog.Main: {Update: u, SnapshotID: attempt}})
			now := c.View(catalog.Main)
			got := catalog.Next(now, u, attempt, class)
			if want := expected(name, class, landed[name]); got.Action != want {
				t.Errorf("%s, answer %s: %s (%s), want %s", name, class, got.Action, got.Reason, want)
			}
			if catalog.Landed(now, u, attempt) != landed[name] {
				t.Errorf("%s: landed = %v", name, !landed[name])
			}
			if got.Action == catalog.Pause && got.Reason == "" {
				t.Errorf("%s, answer %s: a pause without a reason", name, class)
			}
		}
	}
}

func expected(situation string, class status.Class, landed bool) catalog.Action {
	switch {
	case situation == "other table":
		return catalog.Pause
	case landed:
		return catalog.Publish
	}
	switch class {
	case status.Conflict:
		return catalog.Rebuild
	case status.NotFound, status.Corrupt, status.Closed:
		return catalog.Pause
	case status.Invalid, status.Unsupported:
		if situation == "nothing" {
			return catalog.Pause
		}
		return catalog.Rebuild
	}
	if situation == "nothing" {
		return catalog.Resend
	}
	return catalog.Rebuild
}

func TestNextPublishesASuccess(t *testing.T) {
	c := catalogtest.NewCatalog(claim, catalog.Main)
	u := commit(t, c, 10)
	v := c.View(catalog.Main)
	if s := catalog.Next(v, u, v.Head, status.OK); s.Action != catalog.Publish {
		t.Errorf("%+v", s)
	}
}
