package assemble

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/kafkaclient"
	"tidemark/internal/status"
)

// The broker's own setting is judged once it answers; those of others, and what is hidden, are not.
func TestSettingsOfTheBroker(t *testing.T) {
	for value, warnings := range map[string]int{"500": 1, "100": 1, "501": 0, "2000": 0, "": 0, "hidden": 0} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			asked := 0
			ask := func(context.Context) ([]kafkaclient.Broker, error) {
				if asked++; asked < 4 {
					return nil, status.Errorf(status.Transient, "it starts")
				}
				return []kafkaclient.Broker{{ID: 1, Config: map[string]string{fetchWait: "1"}}, {ID: 2, Config: map[string]string{fetchWait: value}}}, nil
			}
			lookAtSettings(t.Context(), ask, 2, slog.New(slog.NewTextHandler(&out, nil)))
			if got := strings.Count(out.String(), "level=WARN"); asked != 4 || got != warnings || got > 0 && !strings.Contains(out.String(), fetchWait) {
				t.Errorf("%q: asked %d times, %d warnings wanted: %s", value, asked, warnings, out.String())
			}
		})
	}
}

func TestSettingsAreAskedForUntilTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		lookAtSettings(ctx, func(context.Context) ([]kafkaclient.Broker, error) {
			return nil, status.Errorf(status.Closed, "closed")
		}, 1, slog.New(slog.DiscardHandler))
		if ctx.Err() == nil {
			t.Error("it ended before it was told to")
		}
	})
}
