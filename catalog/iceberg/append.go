package iceberg

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"time"

	lib "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"tidemark/catalog"
	"tidemark/internal/objectstore"
	"tidemark/internal/status"
)

// Addition is one append to a table: one snapshot on the head of the document it is added to.
type Addition struct {
	Files      []catalog.File    // none: an empty snapshot, whose summary and properties are the point
	Summary    map[string]string // kept verbatim in the snapshot summary
	Properties map[string]string // set in the same update
	Tag        string            // a tag moved to the new snapshot, kept for ever; "" for none
	File       string            // URI of the new document, see [File]
	// NotBeforeMs is a lower bound of the snapshot's time, besides the store's time and the table's last update.
	NotBeforeMs int64
}

// Append derives the document that follows m: it writes the manifest and the manifest list of the new snapshot and returns the
// document, not yet stored, with the id of the snapshot. One attempt; files of an attempt that is given up are orphans.
func (m *Metadata) Append(ctx context.Context, store objectstore.Store, a Addition) (*Metadata, int64, error) {
	manifests, err := m.manifests(ctx, store, m.head())
	if err != nil {
		return nil, 0, err
	}
	s := &stager{m: m, store: store, id: m.newSnapshotID(), attempt: uuid.New().String()}
	if len(a.Files) > 0 {
		added, err := s.manifest(ctx, a.Files)
		if err != nil {
			return nil, 0, err
		}
		manifests = append(added, manifests...)
	}
	snapshot, err := s.snapshot(ctx, manifests, a)
	if err != nil {
		return nil, 0, err
	}
	updates := []table.Update{
		table.NewAddSnapshotUpdate(snapshot),
		m.advance(snapshot.SnapshotID),
	}
	if a.Tag != "" {
		updates = append(updates, table.NewSetSnapshotRefUpdate(a.Tag, snapshot.SnapshotID, table.TagRef, progressTagForever, 0, 0))
	}
	properties := maps.Clone(a.Properties)
	if m.meta.Properties().GetInt(keptVersionsKey, 0) < keptVersions {
		if properties == nil {
			properties = map[string]string{}
		}
		properties[keptVersionsKey] = itoa(keptVersions)
	}
	if len(properties) > 0 {
		updates = append(updates, table.NewSetPropertiesUpdate(properties))
	}
	next, err := table.UpdateTableMetadata(m.meta, updates, m.file)
	if err != nil {
		return nil, 0, status.Errorf(status.Internal, "append to %s: %w", m.file, err)
	}
	sealed, err := seal(next, a.File)
	return sealed, snapshot.SnapshotID, err
}

// advance moves main to a snapshot and keeps the branch's own retention settings.
func (m *Metadata) advance(id int64) table.Update {
	var refAge, snapshotAge int64
	var keep int
	for name, ref := range m.meta.Refs() {
		if name != table.MainBranch {
			continue
		}
		if ref.MaxRefAgeMs != nil {
			refAge = *ref.MaxRefAgeMs
		}
		if ref.MaxSnapshotAgeMs != nil {
			snapshotAge = *ref.MaxSnapshotAgeMs
		}
		if ref.MinSnapshotsToKeep != nil {
			keep = *ref.MinSnapshotsToKeep
		}
	}
	return table.NewSetSnapshotRefUpdate(table.MainBranch, id, table.BranchRef, refAge, snapshotAge, keep)
}

func (m *Metadata) newSnapshotID() int64 {
	for {
		id := uuid.New()
		var n int64
		for i := range 8 {
			n = n<<8 | int64(id[i]^id[i+8])
		}
		n &= 1<<63 - 1
		if n > 0 && m.meta.SnapshotByID(n) == nil {
			return n
		}
	}
}

// stager writes the files of one new snapshot.
type stager struct {
	m       *Metadata
	store   objectstore.Store
	id      int64
	attempt string
}

// manifest writes one manifest per partition spec for the added files.
func (s *stager) manifest(ctx context.Context, files []catalog.File) ([]lib.ManifestFile, error) {
	bySpec := map[int][]lib.ManifestEntry{}
	for _, f := range files {
		data, err := s.m.dataFile(f)
		if err != nil {
			return nil, err
		}
		// Sequence numbers are inherited from the manifest list, as the specification wants for added files.
		bySpec[f.Spec] = append(bySpec[f.Spec], lib.NewManifestEntry(lib.EntryStatusADDED, &s.id, nil, nil, data))
	}
	var out []lib.ManifestFile
	for i, id := range slices.Sorted(maps.Keys(bySpec)) {
		spec := s.m.meta.PartitionSpecByID(id)
		uri := s.m.meta.Location() + "/metadata/" + s.attempt + "-m" + itoa(int64(i)) + ".avro"
		var buf bytes.Buffer
		mf, err := lib.WriteManifest(uri, &buf, formatVersion, *spec, s.m.meta.CurrentSchema(), s.id, bySpec[id])
		if err != nil {
			return nil, status.Errorf(status.Internal, "encode manifest %s: %w", uri, err)
		}
		if _, err := write(ctx, s.store, uri, buf.Bytes()); err != nil {
			return nil, status.Wrapf(err, "write manifest %s", uri)
		}
		out = append(out, mf)
	}
	return out, nil
}

// snapshot writes the manifest list and describes the snapshot.
func (s *stager) snapshot(ctx context.Context, manifests []lib.ManifestFile, a Addition) (*table.Snapshot, error) {
	head := s.m.head()
	sequence := s.m.meta.LastSequenceNumber() + 1
	var parent *int64
	if head != nil {
		parent = &head.SnapshotID
	}
	uri := s.m.meta.Location() + "/metadata/snap-" + itoa(s.id) + "-0-" + s.attempt + ".avro"
	var buf bytes.Buffer
	if err := lib.WriteManifestList(formatVersion, &buf, s.id, parent, &sequence, 0, manifests); err != nil {
		return nil, status.Errorf(status.Internal, "encode manifest list %s: %w", uri, err)
	}
	info, err := write(ctx, s.store, uri, buf.Bytes())
	if err != nil {
		return nil, status.Wrapf(err, "write manifest list %s", uri)
	}
	storeTime := info.Modified
	if storeTime.IsZero() { // a store that does not say; the rule below still holds
		storeTime = time.Now()
	}
	schemaID := s.m.meta.CurrentSchema().ID
	return &table.Snapshot{
		SnapshotID:       s.id,
		ParentSnapshotID: parent,
		SequenceNumber:   sequence,
		TimestampMs:      max(storeTime.UnixMilli(), s.m.meta.LastUpdatedMillis()+1, a.NotBeforeMs),
		ManifestList:     uri,
		Summary:          summary(head, a),
		SchemaID:         &schemaID,
	}, nil
}

func (m *Metadata) head() *table.Snapshot { return m.meta.SnapshotByName(table.MainBranch) }
