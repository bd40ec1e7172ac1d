package builtin

import (
	"context"
	"maps"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"tidemark/catalog"
	"tidemark/catalog/iceberg"
	"tidemark/internal/objectstore/key"
	"tidemark/internal/status"
	"tidemark/parquet/schema"
)

// GroupSpec is what the tables of a topic are created from.
type GroupSpec struct {
	Claim           catalog.Claim
	Namespace, Name string        // see [TableName]
	Main            schema.Schema // ids are assigned by the catalog
	Quarantine      schema.Schema // no fields: no quarantine table
	Unpartitioned   bool          // else by day(_kafka_timestamp)
	TargetFileSize  int64         // bytes, for the writers of other engines; 0: the default
	// Properties are set on the main table besides those of every table. Names starting with "tidemark." are refused.
	Properties map[string]string
}

// timestampColumn is what tables are partitioned by the day of.
const timestampColumn = "_kafka_timestamp"

const defaultTargetFileSize = 256 << 20

func (s GroupSpec) validate() error {
	if err := checkName("namespace", s.Namespace); err != nil {
		return err
	}
	if err := checkName("table name", s.Name); err != nil {
		return err
	}
	if s.Claim.TopicID == (catalog.TopicID{}) || s.Claim.ClusterID == "" {
		return status.Errorf(status.Invalid, "table %s.%s: topic id and cluster id are required", s.Namespace, s.Name)
	}
	if len(s.Main.Fields) == 0 {
		return status.Errorf(status.Invalid, "table %s.%s has no columns", s.Namespace, s.Name)
	}
	if s.TargetFileSize < 0 {
		return status.Errorf(status.Invalid, "table %s.%s: target file size %d", s.Namespace, s.Name, s.TargetFileSize)
	}
	for name := range s.Properties {
		if strings.HasPrefix(name, "tidemark.") {
			return status.Errorf(status.Invalid, "table %s.%s: property %s is reserved", s.Namespace, s.Name, name)
		}
	}
	return nil
}

// CreateGroup makes the tables of a topic, or returns those it has: it may be called again, and by several brokers at once.
// Errors: Invalid, Unsupported, Conflict (the name belongs to another topic, or the topic's tables go by another name),
// Unknown (call again), and those of the store.
func (c *Catalog) CreateGroup(ctx context.Context, spec GroupSpec) (*GroupView, error) {
	if err := spec.validate(); err != nil {
		return nil, err
	}
	topic := spec.Claim.TopicID
	base, err := c.base(ctx, topic)
	if err != nil {
		return nil, err
	}
	if base != nil && !base.Dropped {
		return c.created(ctx, spec, *base)
	}
	next, err := c.prepareGroup(ctx, spec, base)
	if err != nil {
		return nil, err
	}
	moved := c.groups.move(ctx, topic, base, next)
	s, err := c.groups.load(ctx, topic)
	switch {
	case err == nil && !s.Dropped && s.Generation >= next.Generation:
		return c.created(ctx, spec, s) // ours, or that of another broker with the same definition
	case moved == nil && err != nil:
		return nil, status.Wrapf(err, "group of topic id %s was created and cannot be read", next.TopicID)
	case moved == nil:
		return nil, status.Errorf(status.Conflict, "group of topic id %s was dropped while it was created", next.TopicID)
	}
	return nil, status.Errorf(status.Unknown, "whether the group of topic id %s was created is not known: %w", next.TopicID, moved)
}

// base is the pointer to build on: nil if the group was never created, else a tombstone or a live group.
func (c *Catalog) base(ctx context.Context, topic catalog.TopicID) (*state, error) {
	s, err := c.groups.load(ctx, topic)
	if err == nil {
		return &s, nil
	}
	if !status.Is(err, status.NotFound) {
		return nil, status.Wrapf(err, "group of topic id %s", key.UUID(topic))
	}
	wrong, err := c.other.exists(ctx, topic)
	if err == nil && wrong {
		err = status.Errorf(status.Invalid, "the group of topic id %s was created in the other catalog mode: one store is used in one mode for ever", key.UUID(topic))
	}
	return nil, err
}

// created returns a live group after checking that it is the one wanted and still holds its name.
func (c *Catalog) created(ctx context.Context, spec GroupSpec, s state) (*GroupView, error) {
	if s.ClusterID != spec.Claim.ClusterID {
		return nil, status.Errorf(status.Conflict, "the tables of topic id %s belong to cluster %q, this is cluster %q", s.TopicID, s.ClusterID, spec.Claim.ClusterID)
	}
	if !strings.EqualFold(s.Namespace, spec.Namespace) || !strings.EqualFold(s.Name, spec.Name) {
		return nil, status.Errorf(status.Conflict, "the tables of topic %q (id %s) exist and go by %s.%s, not %s.%s", s.Topic, s.TopicID, s.Namespace, s.Name, spec.Namespace, spec.Name)
	}
	h, err := c.names.holder(ctx, s.Namespace, s.Name)
	if err != nil {
		return nil, err
	}
	if h.TopicID != s.TopicID {
		return nil, status.Errorf(status.Conflict, "table name %s.%s was claimed by topic %q (id %s) meanwhile", s.Namespace, s.Name, h.Topic, h.TopicID)
	}
	return c.view(ctx, spec.Claim.TopicID, s)
}

// prepareGroup claims the name and writes the first metadata documents.
func (c *Catalog) prepareGroup(ctx context.Context, spec GroupSpec, base *state) (group, error) {
	next := group{
		TopicID: key.UUID(spec.Claim.TopicID), ClusterID: spec.Claim.ClusterID, Topic: spec.Claim.Topic,
		Namespace: spec.Namespace, Name: spec.Name, Generation: 1, Version: versionOf(base) + 1, CommitID: uuid.NewString(),
	}
	if base != nil {
		next.Generation = base.Generation + 1
	}
	// Documents are made before the name is claimed: a schema that cannot be a table must not take a name.
	var documents []*iceberg.Metadata
	for _, t := range []struct {
		role    catalog.Role
		name    string
		columns schema.Schema
	}{{catalog.Main, spec.Name, spec.Main}, {catalog.Quarantine, spec.Name + quarantineSuffix, spec.Quarantine}} {
		if len(t.columns.Fields) == 0 {
			continue
		}
		meta, err := c.newTable(spec, next.Generation, next.Version, t.role, t.columns)
		if err != nil {
			return next, status.Wrapf(err, "table %s.%s", spec.Namespace, t.name)
		}
		documents = append(documents, meta)
		next.Tables = append(next.Tables, tableRef{Role: string(t.role), Name: t.name, UUID: uuid.UUID(meta.UUID()).String(), Metadata: meta.File()})
	}
	err := c.names.take(ctx, claim{
		Namespace: spec.Namespace, Name: spec.Name, TopicID: next.TopicID, ClusterID: next.ClusterID, Topic: next.Topic, Generation: next.Generation,
	})
	if err != nil {
		return next, err
	}
	for _, meta := range documents {
		if err := meta.Store(ctx, c.store); err != nil {
			return next, status.Wrapf(err, "write the first metadata of topic id %s", next.TopicID)
		}
	}
	return next, nil
}

func (c *Catalog) newTable(spec GroupSpec, generation uint64, version int64, role catalog.Role, columns schema.Schema) (*iceberg.Metadata, error) {
	location := c.store.URI(key.Table(spec.Claim.TopicID, string(role), generation))
	d := iceberg.Definition{
		UUID: uuid.New(), Location: location, File: iceberg.File(location, version, uuid.New()),
		Schema: columns, Properties: tableProperties(spec, role),
	}
	if !spec.Unpartitioned {
		d.PartitionByDay = timestampColumn
	}
	return iceberg.Create(d)
}

// tableProperties are those of every table: how other engines are to write, which metrics they must keep (the bounds of a row's
// identity are what verification and a lost ledger fall back on), and the claim.
func tableProperties(spec GroupSpec, role catalog.Role) map[string]string {
	size := spec.TargetFileSize
	if size == 0 {
		size = defaultTargetFileSize
	}
	p := map[string]string{
		"write.parquet.compression-codec":                     "zstd",
		"write.target-file-size-bytes":                        strconv.FormatInt(size, 10),
		"write.metadata.previous-versions-max":                "100",
		"write.delete.mode":                                   "merge-on-read",
		"write.update.mode":                                   "merge-on-read",
		"write.merge.mode":                                    "merge-on-read",
		"write.metadata.metrics.max-inferred-column-defaults": "100",
		"write.metadata.metrics.column._kafka_partition":      "full",
		"write.metadata.metrics.column._kafka_offset":         "full",
	}
	if role == catalog.Main {
		maps.Copy(p, spec.Properties)
	}
	maps.Copy(p, catalog.ClaimProperties(spec.Claim))
	return p
}
