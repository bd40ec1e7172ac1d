package scenario

import (
	"testing"

	"tidemark/integration/cluster"
	"tidemark/integration/rig"
)

// world is the rig of one scenario.
type world struct{ *rig.Rig }

func start(t *testing.T, o cluster.Options) *world {
	t.Helper()
	return &world{rig.Start(t, o)}
}

func prepare(t *testing.T, o cluster.Options) *world {
	t.Helper()
	return &world{rig.Prepare(t, o)}
}
