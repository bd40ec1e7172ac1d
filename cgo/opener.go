//go:build cgo && !boundarytest

package main

import (
	"context"
	"log/slog"

	"tidemark/cgo/dispatch"
	"tidemark/internal/status"
)

// opener builds the instance behind a configured plugin.
func opener(context.Context, dispatch.OpenRequest, *slog.Logger) (dispatch.Instance, error) {
	return nil, status.Errorf(status.Unsupported, "this library is built without storage")
}
