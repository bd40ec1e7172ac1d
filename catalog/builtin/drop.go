package builtin

import (
	"context"

	"github.com/google/uuid"

	"tidemark/catalog"
	"tidemark/internal/objectstore/key"
	"tidemark/internal/status"
)

// Drop makes a tombstone of a group's pointer: its tables are gone from the catalog, their files stay. Dropping what is dropped
// is success, and so is dropping a group whose creation never ended: the tombstone ends it for good and frees its name. Errors:
// Conflict (somebody else committed; call again), Unknown, and those of the store.
func (c *Catalog) Drop(ctx context.Context, topic catalog.TopicID) error {
	base, err := c.base(ctx, topic)
	if err != nil {
		return err
	}
	next := group{TopicID: key.UUID(topic), Generation: 1}
	if base != nil {
		if base.Dropped {
			return nil
		}
		next = base.group
	}
	next.Version++
	next.CommitID = uuid.NewString()
	next.Dropped = true
	moved := c.groups.move(ctx, topic, base, next)
	now, err := c.groups.load(ctx, topic)
	switch {
	case err != nil:
		return status.Errorf(status.Unknown, "whether the tables of topic id %s were dropped is not known: %w", next.TopicID, err)
	case now.Dropped || now.Generation != next.Generation:
		return nil
	case now.Version >= next.Version:
		return status.Errorf(status.Conflict, "the tables of topic id %s changed while they were dropped; call again", next.TopicID)
	case moved == nil:
		return status.Errorf(status.Unknown, "the tombstone of topic id %s was written and is not to be seen", next.TopicID)
	}
	return status.Errorf(status.Unknown, "whether the tables of topic id %s were dropped is not known: %w", next.TopicID, moved)
}
