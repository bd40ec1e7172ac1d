package builtin

import (
	"context"
	"maps"

	"tidemark/catalog"
	"tidemark/internal/objectstore/key"
	"tidemark/internal/status"
	"tidemark/parquet/schema"
)

// ledgerKey is the key of a ledger object: below the group, outside every table, where other engines' clean-up does not look.
func ledgerKey(topic catalog.TopicID, name string) string { return key.Group(topic) + "/" + name }

// LedgerObject reads a ledger object by the name a snapshot summary has for it. An absent one is NotFound.
func (c *Catalog) LedgerObject(ctx context.Context, topic catalog.TopicID, name string) (string, error) {
	data, _, err := c.store.Get(ctx, ledgerKey(topic, name), ledgerLimit)
	return string(data), err
}

// ledgerLimit bounds a ledger object, in bytes: 10 000 partitions take about 200 KB.
const ledgerLimit = 16 << 20

// Supply returns the group with what a reading of its main table asked for: a ledger object, or the bounds of the offset
// column over live files. Errors are those of the store, and Unsupported or Corrupt for manifests that cannot be read.
func (c *Catalog) Supply(ctx context.Context, g *GroupView, need catalog.Need) (*GroupView, error) {
	main, ok := g.Tables[catalog.Main]
	if !ok {
		return nil, status.Errorf(status.NotFound, "%s.%s has no main table", g.Namespace, g.Name)
	}
	if need.Object != "" {
		text, err := c.LedgerObject(ctx, g.Claim.TopicID, need.Object)
		if err != nil && !status.Is(err, status.NotFound) {
			return nil, status.Wrapf(err, "ledger object %s of %s.%s", need.Object, g.Namespace, g.Name)
		}
		objects := maps.Clone(main.View.Objects)
		if objects == nil {
			objects = map[string]string{}
		}
		objects[need.Object] = text
		main.View.Objects = objects
	}
	if need.Bounds {
		bounds, err := main.meta.OffsetBounds(ctx, c.store, g.Claim.TopicID, offsetField(main.Schema))
		if err != nil {
			return nil, status.Wrapf(err, "bounds of %s.%s", g.Namespace, g.Name)
		}
		main.View.Bounds = bounds
	}
	supplied := *g
	supplied.Tables = maps.Clone(g.Tables)
	supplied.Tables[catalog.Main] = main
	return &supplied, nil
}

// offsetField is the id of the column of Kafka offsets, -1 if the table has none.
func offsetField(s schema.Schema) int {
	name := schema.System()[schema.KafkaOffset].Name
	for _, f := range s.Fields {
		if f.Name == name {
			return f.ID
		}
	}
	return -1
}
