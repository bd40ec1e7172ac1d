package builtin

import (
	"bytes"
	"context"

	"github.com/google/uuid"

	"tidemark/catalog"
	"tidemark/catalog/iceberg"
	"tidemark/internal/objectstore"
	"tidemark/internal/status"
)

// Attempt is a commit that is ready to be sent: everything but the pointer is written. It may be sent again, identical.
type Attempt struct {
	topic     catalog.TopicID
	base      state
	next      group
	snapshots map[catalog.Role]int64
	// One of the tables that move, and its metadata file before and after: where success is looked for.
	role          string
	before, after string
}

// Snapshot is the id of the new snapshot of a table, known before anything is sent; catalog.None if the table does not move.
func (a *Attempt) Snapshot(role catalog.Role) int64 {
	if id, ok := a.snapshots[role]; ok {
		return id
	}
	return catalog.None
}

// Prepare builds the commit of some tables of a loaded group: it evaluates the requirements of every update against the load,
// and writes ledger object, manifests, manifest lists and metadata files. Nothing of it is visible until [Catalog.Send].
// Errors: Conflict (a requirement does not hold), NotFound (the group has no such table), Invalid (a file does not fit the
// table), and those of the store; in none of them has anything happened to the tables.
func (c *Catalog) Prepare(ctx context.Context, g *GroupView, updates map[catalog.Role]catalog.Update, files map[catalog.Role][]catalog.File) (*Attempt, error) {
	a := &Attempt{topic: g.Claim.TopicID, base: g.state, next: g.state.group, snapshots: map[catalog.Role]int64{}}
	a.next.Version++
	a.next.CommitID = uuid.NewString()
	a.next.Tables = append([]tableRef(nil), g.state.Tables...)
	for role := range updates {
		t, ok := g.Tables[role]
		if !ok {
			return nil, status.Errorf(status.NotFound, "%s.%s has no %s table", g.Namespace, g.Name, role)
		}
		if err := require(t, updates[role]); err != nil {
			return nil, err
		}
	}
	for role := range files {
		if _, ok := updates[role]; !ok && len(files[role]) > 0 {
			return nil, status.Errorf(status.Internal, "%s.%s: files for the %s table and no update", g.Namespace, g.Name, role)
		}
	}
	for i, ref := range a.next.Tables {
		u, ok := updates[catalog.Role(ref.Role)]
		if !ok {
			continue
		}
		meta, err := c.stage(ctx, g, catalog.Role(ref.Role), u, files[catalog.Role(ref.Role)], a)
		if err != nil {
			return nil, status.Wrapf(err, "prepare commit %s of %s.%s", u.CommitID, g.Namespace, ref.Name)
		}
		a.next.Tables[i].Metadata = meta.File()
		a.role, a.before, a.after = ref.Role, ref.Metadata, meta.File()
	}
	if a.after == "" {
		return nil, status.Errorf(status.Internal, "%s.%s: a commit of no table", g.Namespace, g.Name)
	}
	return a, nil
}

func require(t Table, u catalog.Update) error {
	err := t.meta.Require(iceberg.Requirement{UUID: u.UUID, Head: u.Base, Tag: catalog.TagProgress, TagAt: u.Tag})
	if err == nil && u.Sequence != t.View.LastSequence+1 {
		err = status.Errorf(status.Conflict, "Requirement failed: next sequence number is %d, expected %d", t.View.LastSequence+1, u.Sequence)
	}
	return status.Wrapf(err, "table %s", t.Name)
}

// stage writes everything of one table's commit but the pointer.
func (c *Catalog) stage(ctx context.Context, g *GroupView, role catalog.Role, u catalog.Update, files []catalog.File, a *Attempt) (*iceberg.Metadata, error) {
	if o := u.LedgerObject; o != nil {
		k := ledgerKey(g.Claim.TopicID, o.Name)
		_, err := c.store.Put(ctx, k, bytes.NewReader([]byte(o.Text)), objectstore.Condition{Absent: true})
		if err != nil && !status.Is(err, status.Conflict) { // equal names hold equal text
			return nil, err
		}
	}
	meta := g.Tables[role].meta
	next, snapshot, err := meta.Append(ctx, c.store, iceberg.Addition{
		Files: files, Summary: u.Summary, Properties: u.Properties, Tag: catalog.TagProgress, NotBeforeMs: u.NotBeforeMs,
		File: iceberg.File(meta.Location(), a.next.Version, uuid.New()),
	})
	if err != nil {
		return nil, err
	}
	a.snapshots[role] = snapshot
	return next, next.Store(ctx, c.store)
}

// Send moves the pointer, once. nil: applied. Conflict: not applied, and this attempt never will be. Unknown: it may have been
// applied or may be yet. Any other class: the store refused the write by contract and the pointer was seen unmoved.
func (c *Catalog) Send(ctx context.Context, a *Attempt) error {
	err := c.groups.move(ctx, a.topic, &a.base, a.next)
	if err == nil && c.mode == Swap {
		return nil // the store has compared: that is the proof
	}
	return c.resolve(ctx, a, err)
}

// resolve finds out what became of a write of the pointer that was answered with err. A created version counts only if a
// fresh load shows it too; after anything but success, our metadata file is looked for in the current document and its log,
// because another writer may already have built on it.
func (c *Catalog) resolve(ctx context.Context, a *Attempt, err error) error {
	unknown := func(why error) error {
		answer := "the write succeeded"
		if err != nil {
			answer = err.Error()
		}
		return status.Errorf(status.Unknown, "commit of version %d of the group of topic id %s: %s; %w", a.next.Version, a.next.TopicID, answer, why)
	}
	now, loadErr := c.groups.load(ctx, a.topic)
	if loadErr != nil {
		return unknown(status.Wrapf(loadErr, "the pointer cannot be read"))
	}
	if now.Generation != a.base.Generation {
		return status.Errorf(status.Conflict, "Requirement failed: the tables of topic id %s were dropped and created anew", a.next.TopicID)
	}
	current := metadataOf(now.group, a.role)
	switch {
	case current == a.after:
		return nil
	case now.Version == a.base.Version && refused(err):
		return err
	case now.Version == a.base.Version:
		return unknown(status.Errorf(status.Unknown, "the pointer has not moved yet"))
	}
	meta, loadErr := iceberg.Load(ctx, c.store, current)
	if loadErr != nil {
		return unknown(status.Wrapf(loadErr, "the current metadata cannot be read"))
	}
	switch {
	case meta.Descends(a.after):
		return nil
	case meta.Descends(a.before):
		return status.Errorf(status.Conflict, "Requirement failed: the group of topic id %s is at version %d, this commit was computed from version %d",
			a.next.TopicID, now.Version, a.base.Version)
	}
	return unknown(status.Errorf(status.Unknown, "%s descends neither from our metadata file nor from the one before it, as far as its log reaches", current))
}

// refused tells the classes that say a write did not and will not happen. A condition that failed is not one of them: the
// request may have been repeated below us after its first copy was applied.
func refused(err error) bool {
	switch status.Of(err) {
	case status.Invalid, status.Unsupported, status.Closed, status.NotFound:
		return true
	}
	return false
}

func metadataOf(g group, role string) string {
	for _, ref := range g.Tables {
		if ref.Role == role {
			return ref.Metadata
		}
	}
	return ""
}

// Commit is Prepare and Send. The snapshot ids are those of the attempt, whatever the error.
func (c *Catalog) Commit(ctx context.Context, g *GroupView, updates map[catalog.Role]catalog.Update, files map[catalog.Role][]catalog.File) (map[catalog.Role]int64, error) {
	a, err := c.Prepare(ctx, g, updates, files)
	if err != nil {
		return nil, err
	}
	return a.snapshots, c.Send(ctx, a)
}
