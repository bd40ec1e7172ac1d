package iceberg

import (
	"context"
	"encoding/binary"
	"strconv"
	"strings"

	"tidemark/catalog"
	"tidemark/internal/objectstore"
)

// OffsetBounds are, per Kafka partition, the highest upper bound of an offset column over the live files that Tidemark wrote
// (data/<topic id>/<partition>/… below the table; files of other writers do not count, their bounds may be gone). A partition
// with a file that lacks the bound is absent. field is the id of the offset column.
func (m *Metadata) OffsetBounds(ctx context.Context, store objectstore.Reader, topic catalog.TopicID, field int) (map[int32]int64, error) {
	ours := m.Location() + "/data/" + topic.String() + "/"
	bounds, unknown := map[int32]int64{}, map[int32]bool{}
	err := m.LiveFiles(ctx, store, func(f LiveFile) error {
		rest, ok := strings.CutPrefix(f.URI, ours)
		if !ok {
			return nil
		}
		number, _, _ := strings.Cut(rest, "/")
		p, err := strconv.ParseInt(number, 10, 32)
		if err != nil {
			return nil
		}
		upper, ok := f.Upper[field]
		if !ok || len(upper) != 8 {
			unknown[int32(p)] = true
			return nil
		}
		offset := int64(binary.LittleEndian.Uint64(upper))
		if old, ok := bounds[int32(p)]; !ok || offset > old {
			bounds[int32(p)] = offset
		}
		return nil
	})
	for p := range unknown {
		delete(bounds, p)
	}
	return bounds, err
}
