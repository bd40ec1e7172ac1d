package iceberg

import (
	"github.com/google/uuid"

	"tidemark/catalog"
	"tidemark/internal/status"
)

// Requirement is what must hold of the table for a commit to happen: assert-table-uuid and two assert-ref-snapshot-id of the
// Iceberg REST specification.
type Requirement struct {
	UUID  [16]byte
	Head  int64  // snapshot of main, catalog.None if there is no main
	Tag   string // name of the pinned tag
	TagAt int64  // its snapshot, catalog.None if there is no such tag
}

// Require evaluates a requirement against the document. A failure is Conflict, in the words of the reference implementation.
func (m *Metadata) Require(r Requirement) error {
	if got := m.meta.TableUUID(); got != uuid.UUID(r.UUID) {
		return status.Errorf(status.Conflict, "Requirement failed: UUID does not match: expected %s != %s", got, uuid.UUID(r.UUID))
	}
	if err := m.requireRef("branch", catalog.BranchMain, r.Head); err != nil {
		return err
	}
	return m.requireRef("tag", r.Tag, r.TagAt)
}

func (m *Metadata) requireRef(kind, name string, want int64) error {
	got := m.ref(name)
	switch {
	case got == want:
		return nil
	case want == catalog.None:
		return status.Errorf(status.Conflict, "Requirement failed: %s %s was created concurrently", kind, name)
	case got == catalog.None:
		return status.Errorf(status.Conflict, "Requirement failed: branch or tag %s is missing, expected %d", name, want)
	}
	return status.Errorf(status.Conflict, "Requirement failed: %s %s has changed: expected id %d != %d", kind, name, want, got)
}

// ref is the snapshot a branch or tag names, catalog.None if there is none.
func (m *Metadata) ref(name string) int64 {
	for n, ref := range m.meta.Refs() {
		if n == name {
			return ref.SnapshotID
		}
	}
	return catalog.None
}
