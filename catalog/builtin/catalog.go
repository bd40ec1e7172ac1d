package builtin

import (
	"context"
	"log/slog"
	"strings"

	"github.com/google/uuid"

	"tidemark/catalog"
	"tidemark/catalog/iceberg"
	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/key"
	"tidemark/internal/status"
	"tidemark/parquet/schema"
)

// Config is how a catalog works. The zero value is for a file store.
type Config struct {
	Mode Mode
	// Reading is what the REST face tells engines about reading the files (s3.endpoint, s3.path-style-access, client.region).
	// Names that could hold a credential are refused.
	Reading map[string]string
}

// Catalog is the built-in catalog of one store.
type Catalog struct {
	store   objectstore.Store
	mode    Mode
	groups  pointer
	other   pointer // of the mode that is not ours: a store must not be used in both
	names   *names
	reading map[string]string
	log     *slog.Logger
}

// Open makes a catalog over a store; it does no I/O. Errors: Invalid.
func Open(store objectstore.Store, cfg Config, log *slog.Logger) (*Catalog, error) {
	groups, err := newPointer(store, cfg.Mode)
	if err != nil {
		return nil, err
	}
	other, err := newPointer(store, CreateOnly+Swap-cfg.Mode)
	if err != nil {
		return nil, err
	}
	for name := range cfg.Reading {
		if secretName(name) {
			return nil, status.Errorf(status.Invalid, "%s could hold a credential and must not be served to readers", name)
		}
	}
	return &Catalog{
		store: store, mode: cfg.Mode, groups: groups, other: other, names: &names{store: store, groups: groups},
		reading: cfg.Reading, log: log,
	}, nil
}

func secretName(name string) bool {
	lower := strings.ToLower(name)
	for _, word := range []string{"secret", "token", "password", "credential", "access-key", "key-id", "sas", "oauth"} {
		if strings.Contains(lower, word) {
			return true
		}
	}
	return false
}

// Table is one table of a loaded group.
type Table struct {
	Name      string
	View      catalog.TableView
	Schema    schema.Schema            // current, with the ids that data files must carry
	Partition []iceberg.PartitionField // of the spec View.SpecID; none for an unpartitioned table

	meta *iceberg.Metadata
}

// Metadata is the table's metadata document.
func (t Table) Metadata() *iceberg.Metadata { return t.meta }

// GroupView is a group as it was at one moment. It is read-only.
type GroupView struct {
	Claim           catalog.Claim
	Namespace, Name string
	Generation      uint64 // of the tables, +1 each time the group is created anew after a drop
	Version         int64  // of the pointer
	Tables          map[catalog.Role]Table

	state state
}

// View is the table of a role; ok is false if the group has none.
func (g *GroupView) View(role catalog.Role) (view catalog.TableView, ok bool) {
	t, ok := g.Tables[role]
	return t.View, ok
}

// LoadGroup reads the pointer of a group and the metadata of its tables, once. Errors: NotFound (never created, or dropped),
// Corrupt, Unsupported, and those of the store.
func (c *Catalog) LoadGroup(ctx context.Context, topic catalog.TopicID) (*GroupView, error) {
	s, err := c.groups.load(ctx, topic)
	if err != nil {
		return nil, status.Wrapf(err, "group of topic id %s", key.UUID(topic))
	}
	if s.Dropped {
		return nil, status.Errorf(status.NotFound, "the tables of topic %q (id %s) were dropped", s.Topic, s.TopicID)
	}
	return c.view(ctx, topic, s)
}

func (c *Catalog) view(ctx context.Context, topic catalog.TopicID, s state) (*GroupView, error) {
	g := &GroupView{
		Claim:     catalog.Claim{ClusterID: s.ClusterID, TopicID: topic, Topic: s.Topic},
		Namespace: s.Namespace, Name: s.Name, Generation: s.Generation, Version: s.Version,
		Tables: make(map[catalog.Role]Table, len(s.Tables)), state: s,
	}
	for _, ref := range s.Tables {
		meta, err := iceberg.Load(ctx, c.store, ref.Metadata)
		if err != nil {
			return nil, status.Wrapf(err, "table %s.%s", s.Namespace, ref.Name)
		}
		if got := uuid.UUID(meta.UUID()).String(); got != ref.UUID {
			return nil, status.Errorf(status.Corrupt, "%s is of table %s, the group of topic id %s names table %s", ref.Metadata, got, s.TopicID, ref.UUID)
		}
		columns, err := meta.Schema()
		if err != nil {
			return nil, err
		}
		_, partition := meta.Partitioning()
		g.Tables[catalog.Role(ref.Role)] = Table{Name: ref.Name, View: meta.View(catalog.TagProgress), Schema: columns, Partition: partition, meta: meta}
	}
	return g, nil
}

// GroupInfo is a group in a listing.
type GroupInfo struct {
	Claim           catalog.Claim
	Namespace, Name string
	Generation      uint64
	Tables          map[catalog.Role]string // table names
}

// Groups lists the groups that exist, by namespace and name.
func (c *Catalog) Groups(ctx context.Context) ([]GroupInfo, error) {
	held, err := c.names.holders(ctx, namesPrefix)
	if err != nil {
		return nil, status.Wrapf(err, "list groups")
	}
	var out []GroupInfo
	for _, h := range held {
		s, topic, err := c.live(ctx, h)
		if status.Is(err, status.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		info := GroupInfo{
			Claim:     catalog.Claim{ClusterID: s.ClusterID, TopicID: topic, Topic: s.Topic},
			Namespace: s.Namespace, Name: s.Name, Generation: s.Generation, Tables: map[catalog.Role]string{},
		}
		for _, ref := range s.Tables {
			info.Tables[catalog.Role(ref.Role)] = ref.Name
		}
		out = append(out, info)
	}
	return out, nil
}

// live is the group that holds a name now; NotFound if it is not created yet, dropped, or goes by another name.
func (c *Catalog) live(ctx context.Context, h holder) (state, catalog.TopicID, error) {
	topic, err := topicOf(h.claim)
	if err != nil {
		return state{}, topic, err
	}
	s, err := c.groups.load(ctx, topic)
	if err != nil {
		return s, topic, err
	}
	if s.Dropped || s.Generation != h.Generation || !strings.EqualFold(s.Namespace, h.Namespace) || !strings.EqualFold(s.Name, h.Name) {
		return s, topic, status.Errorf(status.NotFound, "no group goes by the name %s.%s", h.Namespace, h.Name)
	}
	return s, topic, nil
}
