//go:build cgo && !boundarytest

package main

import (
	"context"
	"log/slog"

	"tidemark/cgo/assemble"
	"tidemark/cgo/dispatch"
)

// opener builds the instance behind a configured plugin.
func opener(ctx context.Context, req dispatch.OpenRequest, log *slog.Logger) (dispatch.Instance, error) {
	return assemble.Open(ctx, req, log)
}

// entered is where the boundary tests let an export panic.
func entered(string) {}
