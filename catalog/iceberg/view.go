package iceberg

import (
	"maps"

	"tidemark/catalog"
)

// View is what the commit state machine needs of the document. tag names the ref it reports as the progress tag.
func (m *Metadata) View(tag string) catalog.TableView {
	v := catalog.TableView{
		UUID:          m.UUID(),
		Location:      m.Location(),
		MetadataFile:  m.file,
		Head:          m.ref(catalog.BranchMain),
		Tag:           m.ref(tag),
		LastSequence:  m.meta.LastSequenceNumber(),
		LastUpdatedMs: m.meta.LastUpdatedMillis(),
		Properties:    maps.Clone(m.meta.Properties()),
		SchemaID:      m.meta.CurrentSchema().ID,
		SpecID:        m.meta.DefaultPartitionSpec(),
	}
	for _, s := range m.meta.Snapshots() {
		parent := catalog.None
		if s.ParentSnapshotID != nil {
			parent = *s.ParentSnapshotID
		}
		summary := map[string]string{}
		if s.Summary != nil {
			maps.Copy(summary, s.Summary.Properties)
			summary["operation"] = string(s.Summary.Operation)
		}
		v.Snapshots = append(v.Snapshots, catalog.SnapshotView{ID: s.SnapshotID, Parent: parent, Sequence: s.SequenceNumber, Summary: summary})
	}
	return v
}
