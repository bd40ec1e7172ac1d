package catalogtest

import (
	"fmt"
	"maps"
	"slices"

	"tidemark/catalog"
	"tidemark/internal/status"
)

// Catalog is one group: the tables of one topic under one pointer.
type Catalog struct {
	// IgnoreHead and IgnoreTag make the catalog forget that requirement.
	IgnoreHead, IgnoreTag bool
	// CheckSequence makes the catalog refuse, as Invalid, a snapshot whose sequence number is not above the table's last one.
	// The common implementations do; the specification does not ask for it.
	CheckSequence bool

	Objects map[string]string // ledger objects that were stored
	Deleted map[string]bool   // data files that expiry has deleted

	tables map[catalog.Role]*Table
	nextID int64
}

// Table is one table of the scripted catalog.
type Table struct {
	view    catalog.TableView
	live    map[int64][]catalog.File // by snapshot, also of expired ones
	version int
}

// TableRequest is the part of a request that concerns one table.
type TableRequest struct {
	Update     catalog.Update
	SnapshotID int64
	Add        []catalog.File
	Remove     []string // URIs
}

// Request is one update of the group: all of it is applied, or nothing.
type Request map[catalog.Role]TableRequest

// NewCatalog makes a group whose tables have the claim and no snapshot.
func NewCatalog(claim catalog.Claim, roles ...catalog.Role) *Catalog {
	c := &Catalog{
		Objects: map[string]string{}, Deleted: map[string]bool{}, tables: map[catalog.Role]*Table{}, nextID: 1000,
	}
	for i, role := range roles {
		c.tables[role] = &Table{
			view: catalog.TableView{
				UUID: [16]byte{0: 0xa0, 15: byte(i + 1)}, Location: "mem://" + string(role), MetadataFile: string(role) + "-0",
				Head: catalog.None, Tag: catalog.None, LastUpdatedMs: 1, Properties: catalog.ClaimProperties(claim),
			},
			live: map[int64][]catalog.File{},
		}
	}
	return c
}

// Load is one load of the group: what changes later does not change it.
func (c *Catalog) Load() map[catalog.Role]catalog.TableView {
	views := map[catalog.Role]catalog.TableView{}
	for role := range c.tables {
		views[role] = c.View(role)
	}
	return views
}

// View is one load of one table.
func (c *Catalog) View(role catalog.Role) catalog.TableView {
	v := c.tables[role].view
	v.Properties = maps.Clone(v.Properties)
	v.Snapshots = slices.Clone(v.Snapshots)
	return v
}

// NewSnapshotID returns an id that no snapshot has.
func (c *Catalog) NewSnapshotID() int64 {
	c.nextID++
	return c.nextID
}

// Files are the live files of a table at a snapshot.
func (c *Catalog) Files(role catalog.Role, snapshot int64) []catalog.File {
	return c.tables[role].live[snapshot]
}

// Apply applies a request if its requirements hold, and answers OK, Conflict, or NotFound for a table it does not have.
// Invalid stands for an update that the metadata cannot take.
func (c *Catalog) Apply(r Request) status.Class {
	for role, t := range r {
		table, ok := c.tables[role]
		if !ok {
			return status.NotFound
		}
		u, v := t.Update, table.view
		if v.UUID != u.UUID || v.Head != u.Base && !c.IgnoreHead || v.Tag != u.Tag && !c.IgnoreTag {
			return status.Conflict
		}
		if _, known := table.find(t.SnapshotID); known || c.CheckSequence && u.Sequence <= v.LastSequence {
			return status.Invalid
		}
	}
	for role, t := range r {
		table := c.tables[role]
		live := slices.DeleteFunc(slices.Clone(table.live[t.Update.Base]), func(f catalog.File) bool {
			return slices.Contains(t.Remove, f.URI)
		})
		table.add(t.SnapshotID, t.Update.Base, t.Update.Sequence, t.Update.Summary, append(live, t.Add...))
		table.view.Tag = t.SnapshotID
		maps.Copy(table.view.Properties, t.Update.Properties)
	}
	return status.OK
}

func (t *Table) find(id int64) (catalog.SnapshotView, bool) {
	for _, s := range t.view.Snapshots {
		if s.ID == id {
			return s, true
		}
	}
	return catalog.SnapshotView{}, false
}

// add makes a snapshot and moves main to it.
func (t *Table) add(id, parent, sequence int64, summary map[string]string, live []catalog.File) {
	t.view.LastSequence = max(t.view.LastSequence, sequence)
	t.view.Snapshots = append(t.view.Snapshots, catalog.SnapshotView{ID: id, Parent: parent, Sequence: sequence, Summary: summary})
	t.live[id] = live
	t.view.Head = id
	t.changed()
}

func (t *Table) changed() {
	t.version++
	t.view.LastUpdatedMs++
	t.view.MetadataFile = fmt.Sprintf("%s-%d", t.view.Location, t.version)
}

// Append is another writer's append.
func (c *Catalog) Append(role catalog.Role, files ...catalog.File) int64 {
	t := c.tables[role]
	t.add(c.NewSnapshotID(), t.view.Head, t.view.LastSequence+1, map[string]string{"operation": "append"}, append(slices.Clone(t.live[t.view.Head]), files...))
	return t.view.Head
}

// Rewrite is another writer's compaction: it replaces files by one.
func (c *Catalog) Rewrite(role catalog.Role, remove []string, file catalog.File) int64 {
	t := c.tables[role]
	live := slices.DeleteFunc(slices.Clone(t.live[t.view.Head]), func(f catalog.File) bool { return slices.Contains(remove, f.URI) })
	t.add(c.NewSnapshotID(), t.view.Head, t.view.LastSequence+1, map[string]string{"operation": "replace"}, append(live, file))
	return t.view.Head
}

// SetMain is an operator's move of main to a snapshot that the table still has.
func (c *Catalog) SetMain(role catalog.Role, snapshot int64) {
	t := c.tables[role]
	if _, ok := t.find(snapshot); !ok {
		panic("catalogtest: main moved to a snapshot that is not there")
	}
	t.view.Head = snapshot
	t.changed()
}

// Expire removes all snapshots but the newest keep of the ancestry of main and the tagged one, and deletes the data files
// that only they had.
func (c *Catalog) Expire(role catalog.Role, keep int) {
	t := c.tables[role]
	retained := map[int64]bool{t.view.Tag: true}
	for id := t.view.Head; id != catalog.None && keep > 0; keep-- {
		s, ok := t.find(id)
		if !ok {
			break
		}
		retained[id] = true
		id = s.Parent
	}
	needed := map[string]bool{}
	for id := range retained {
		for _, f := range t.live[id] {
			needed[f.URI] = true
		}
	}
	var kept []catalog.SnapshotView
	for _, s := range t.view.Snapshots {
		if retained[s.ID] {
			kept = append(kept, s)
			continue
		}
		for _, f := range t.live[s.ID] {
			if !needed[f.URI] {
				c.Deleted[f.URI] = true
			}
		}
	}
	t.view.Snapshots = kept
	t.changed()
}

// SetProperty is a property set by hand; "" removes it.
func (c *Catalog) SetProperty(role catalog.Role, key, value string) {
	t := c.tables[role]
	t.view.Properties[key] = value
	if value == "" {
		delete(t.view.Properties, key)
	}
	t.changed()
}

// RemoveTag removes the progress tag.
func (c *Catalog) RemoveTag(role catalog.Role) {
	t := c.tables[role]
	t.view.Tag = catalog.None
	t.changed()
}

// Replace drops a table and creates an empty one of the same name and claim.
func (c *Catalog) Replace(role catalog.Role, claim catalog.Claim) {
	old := c.tables[role].view
	fresh := NewCatalog(claim, role).tables[role]
	fresh.view.UUID = old.UUID
	fresh.view.UUID[1]++
	fresh.view.MetadataFile += "-again"
	c.tables[role] = fresh
}
