package coordinator

import (
	"context"

	"tidemark/catalog"
)

// Group is one load of a group.
type Group interface {
	// View is the table of a role; ok is false if the group has none.
	View(role catalog.Role) (view catalog.TableView, ok bool)
}

// Attempt is a commit ready to be sent, perhaps several times.
type Attempt interface {
	// Snapshot is the id of the new snapshot of a table, known before anything is sent.
	Snapshot(role catalog.Role) int64
}

// Catalog loads groups and moves them. Nothing in it may retry or rebase a commit.
type Catalog[G Group, A Attempt] interface {
	// LoadGroup reads all tables of a group, once; NotFound if there is none.
	LoadGroup(ctx context.Context, topic catalog.TopicID) (G, error)
	// Supply returns the load with what its reading asked for.
	Supply(ctx context.Context, group G, need catalog.Need) (G, error)
	// Prepare writes everything of a commit but the step that makes it visible. On an error nothing has happened.
	Prepare(ctx context.Context, group G, updates map[catalog.Role]catalog.Update, files map[catalog.Role][]catalog.File) (A, error)
	// Send makes it visible, whole or not at all, in one try. The class of the error says what is known.
	Send(ctx context.Context, attempt A) error
}

// world is a Catalog without its type parameters.
type world interface {
	load(ctx context.Context, topic catalog.TopicID) (Group, error)
	supply(ctx context.Context, group Group, need catalog.Need) (Group, error)
	prepare(ctx context.Context, group Group, updates map[catalog.Role]catalog.Update, files map[catalog.Role][]catalog.File) (Attempt, error)
	send(ctx context.Context, attempt Attempt) error
}

type typed[G Group, A Attempt] struct{ catalog Catalog[G, A] }

func (t typed[G, A]) load(ctx context.Context, topic catalog.TopicID) (Group, error) {
	return t.catalog.LoadGroup(ctx, topic)
}

func (t typed[G, A]) supply(ctx context.Context, group Group, need catalog.Need) (Group, error) {
	return t.catalog.Supply(ctx, group.(G), need)
}

func (t typed[G, A]) prepare(ctx context.Context, group Group, updates map[catalog.Role]catalog.Update, files map[catalog.Role][]catalog.File) (Attempt, error) {
	return t.catalog.Prepare(ctx, group.(G), updates, files)
}

func (t typed[G, A]) send(ctx context.Context, attempt Attempt) error {
	return t.catalog.Send(ctx, attempt.(A))
}
