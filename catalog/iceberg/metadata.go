package iceberg

import (
	"context"
	"encoding/json"
	"path"
	"strings"

	lib "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"tidemark/internal/objectstore"
	"tidemark/internal/status"
	"tidemark/parquet/schema"
)

// Limits of what is read from the store, in bytes.
const (
	metadataLimit     = 256 << 20
	manifestLimit     = 256 << 20
	manifestListLimit = 64 << 20
)

const (
	formatVersion = 2
	// keptVersions is how many earlier metadata files a document names. The catalog looks for its own file there to learn
	// whether a commit whose reply was lost has landed, so commits never let the table's setting go below it.
	keptVersions       = 100
	keptVersionsKey    = table.MetadataPreviousVersionsMaxKey
	progressTagForever = int64(1<<63 - 1) // max-ref-age-ms of the progress tag: expiry by age never takes it
)

// Metadata is one metadata document of a table, as stored.
type Metadata struct {
	meta table.Metadata
	file string // URI
	raw  []byte
}

// Definition is what a new table is made of.
type Definition struct {
	UUID     [16]byte
	Location string // URI of the table; data/ and metadata/ lie below it
	File     string // URI at which the document will be stored, see [File]
	Schema   schema.Schema
	// PartitionByDay is the top-level timestamp or date column whose day() partitions the table; "" for no partitioning.
	PartitionByDay string
	Properties     map[string]string
}

// File is the URI of a metadata document: the version orders documents for people, id makes the name unique.
func File(location string, version int64, id [16]byte) string {
	return location + "/metadata/" + pad(version) + "-" + uuid.UUID(id).String() + ".metadata.json"
}

// Create makes the first metadata document of a table. Field ids are assigned here, whatever d.Schema holds: data files must
// be written with those of [Metadata.Schema]. Errors: Invalid, Unsupported.
func Create(d Definition) (*Metadata, error) {
	s, err := librarySchema(d.Schema)
	if err != nil {
		return nil, status.Wrapf(err, "table %s", d.Location)
	}
	spec := lib.UnpartitionedSpec
	if d.PartitionByDay != "" {
		day, err := lib.NewPartitionSpecOpts(lib.AddPartitionFieldByName(d.PartitionByDay, d.PartitionByDay+"_day", lib.DayTransform{}, s, nil))
		if err != nil {
			return nil, status.Errorf(status.Invalid, "table %s: partition by day(%s): %w", d.Location, d.PartitionByDay, err)
		}
		spec = &day
	}
	meta, err := table.NewMetadataWithUUID(s, spec, table.UnsortedSortOrder, strings.TrimSuffix(d.Location, "/"), lib.Properties(d.Properties), uuid.UUID(d.UUID))
	if err != nil {
		return nil, status.Errorf(status.Invalid, "table %s: %w", d.Location, err)
	}
	return seal(meta, d.File)
}

// seal gives a document its name and its bytes.
func seal(meta table.Metadata, file string) (*Metadata, error) {
	raw, err := json.Marshal(meta)
	if err != nil {
		return nil, status.Errorf(status.Internal, "encode %s: %w", file, err)
	}
	return &Metadata{meta: meta, file: file, raw: raw}, nil
}

// Parse reads a metadata document. An unreadable one is Corrupt and named.
func Parse(raw []byte, file string) (*Metadata, error) {
	meta, err := table.ParseMetadataBytes(raw)
	if err != nil {
		return nil, status.Errorf(status.Corrupt, "metadata file %s cannot be read: %w", file, err)
	}
	if v := meta.Version(); v != formatVersion {
		return nil, status.Errorf(status.Unsupported, "metadata file %s has format version %d, this version of Tidemark writes version %d only", file, v, formatVersion)
	}
	return &Metadata{meta: meta, file: file, raw: raw}, nil
}

// Load reads the metadata document at a URI of the store.
func Load(ctx context.Context, store objectstore.Reader, file string) (*Metadata, error) {
	raw, err := read(ctx, store, file, metadataLimit)
	if err != nil {
		return nil, err
	}
	return Parse(raw, file)
}

// Store writes the document under its name, which must not exist yet.
func (m *Metadata) Store(ctx context.Context, store objectstore.Store) error {
	_, err := write(ctx, store, m.file, m.raw)
	return err
}

// File is the URI of the document.
func (m *Metadata) File() string { return m.file }

// Bytes is the document as stored. The caller must not change it.
func (m *Metadata) Bytes() []byte { return m.raw }

// UUID is the identity of the table.
func (m *Metadata) UUID() [16]byte { return m.meta.TableUUID() }

// Location is the URI of the table.
func (m *Metadata) Location() string { return m.meta.Location() }

// Descends reports whether the document is, or descends from, the document at a URI, as far as its metadata log reaches.
func (m *Metadata) Descends(file string) bool {
	if m.file == file {
		return true
	}
	for entry := range m.meta.PreviousFiles() {
		if entry.MetadataFile == file {
			return true
		}
	}
	return false
}

// Schema is the current schema with the ids of the table. Source names are not part of Iceberg's metadata and are empty.
func (m *Metadata) Schema() (schema.Schema, error) {
	s, err := logicalSchema(m.meta.CurrentSchema())
	return s, status.Wrapf(err, "metadata file %s", m.file)
}

// PartitionField is one field of a partition spec.
type PartitionField struct {
	FieldID   int    // of the partition field: catalog.PartitionValue.FieldID
	SourceID  int    // id of the column it is computed from
	Transform string // as Iceberg writes it: day, identity, ...
	Name      string
}

// Partitioning is the default partition spec: its id and its fields, none for an unpartitioned table.
func (m *Metadata) Partitioning() (id int, fields []PartitionField) {
	spec := m.meta.PartitionSpec()
	for _, f := range spec.Fields() {
		fields = append(fields, PartitionField{FieldID: f.FieldID, SourceID: f.SourceID(), Transform: f.Transform.String(), Name: f.Name})
	}
	return spec.ID(), fields
}

func pad(version int64) string {
	const digits = "00000"
	text := itoa(version)
	if len(text) < len(digits) {
		text = digits[len(text):] + text
	}
	return text
}

// within reports whether uri lies below location.
func within(location, uri string) bool {
	return strings.HasPrefix(uri, location+"/") && path.Clean("/"+uri[len(location):]) == uri[len(location):]
}
