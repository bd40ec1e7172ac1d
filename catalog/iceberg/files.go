package iceberg

import (
	"bytes"
	"context"

	lib "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"tidemark/internal/objectstore"
	"tidemark/internal/status"
)

// LiveFile is a data file that a snapshot reads.
type LiveFile struct {
	URI      string
	Rows     int64
	Size     int64
	Spec     int
	Snapshot int64 // that added it
	Sequence int64 // data sequence number
	Lower    map[int][]byte
	Upper    map[int][]byte // bounds by field id, Iceberg single-value serialisation
	Values   map[int]int64  // values by field id, nulls included
	Nulls    map[int]int64
}

// LiveFiles calls fn for every data file of the head snapshot, in manifest order. Delete files are not data files; a table
// that has some is Unsupported, because its rows cannot be told from its files.
func (m *Metadata) LiveFiles(ctx context.Context, store objectstore.Reader, fn func(LiveFile) error) error {
	manifests, err := m.manifests(ctx, store, m.head())
	if err != nil {
		return err
	}
	for _, manifest := range manifests {
		if manifest.ManifestContent() != lib.ManifestContentData {
			return status.Errorf(status.Unsupported, "table %s has delete files (manifest %s)", m.meta.Location(), manifest.FilePath())
		}
		raw, err := read(ctx, store, manifest.FilePath(), manifestLimit)
		if err != nil {
			return status.Wrapf(err, "manifest %s", manifest.FilePath())
		}
		entries, err := lib.ReadManifest(manifest, bytes.NewReader(raw), true)
		if err != nil {
			return status.Errorf(status.Corrupt, "manifest %s cannot be read: %w", manifest.FilePath(), err)
		}
		for _, e := range entries {
			if err := fn(liveFile(e)); err != nil {
				return err
			}
		}
	}
	return nil
}

func liveFile(e lib.ManifestEntry) LiveFile {
	f := e.DataFile()
	return LiveFile{
		URI: f.FilePath(), Rows: f.Count(), Size: f.FileSizeBytes(), Spec: int(f.SpecID()),
		Snapshot: e.SnapshotID(), Sequence: e.SequenceNum(),
		Lower: f.LowerBoundValues(), Upper: f.UpperBoundValues(), Values: f.ValueCounts(), Nulls: f.NullValueCounts(),
	}
}

// manifests is the manifest list of a snapshot; empty for a table without one.
func (m *Metadata) manifests(ctx context.Context, store objectstore.Reader, s *table.Snapshot) ([]lib.ManifestFile, error) {
	if s == nil {
		return nil, nil
	}
	raw, err := read(ctx, store, s.ManifestList, manifestListLimit)
	if err != nil {
		return nil, status.Wrapf(err, "manifest list of snapshot %d of %s", s.SnapshotID, m.file)
	}
	list, err := lib.ReadManifestList(bytes.NewReader(raw))
	if err != nil {
		return nil, status.Errorf(status.Corrupt, "manifest list %s cannot be read: %w", s.ManifestList, err)
	}
	return list, nil
}
