package scrub

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
)

// uploading is a store with unfinished uploads.
type uploading struct {
	*storetest.Memory
	open []objectstore.Upload
	err  error
}

func (u uploading) ListUploads(_ context.Context, prefix string, max int) (out []objectstore.Upload, more bool, err error) {
	for _, o := range u.open {
		if strings.HasPrefix(o.Key, prefix) {
			out = append(out, o)
		}
	}
	return out[:min(max, len(out))], len(out) > max, u.err
}

func (u uploading) AbortUpload(context.Context, string, string) error { return nil }

func TestUnfinishedUploads(t *testing.T) {
	m, logs, _ := filled(t)
	now := time.Now()
	u := uploading{m, []objectstore.Upload{{Key: logs[0], ID: "old", Started: now.Add(-3 * time.Hour)}, {Key: logs[1], ID: "new", Started: now},
		{Key: "tables/x", ID: "other", Started: now.Add(-3 * time.Hour)}}, nil}
	totals, found, err := scrubbed(t, u, func(c *Config) { c.Now, c.Grace = now, time.Hour })
	if err != nil || len(found) != 1 || found[0].Kind != UnfinishedUpload || found[0].Key != logs[0] || !strings.Contains(found[0].Text, "old") || totals.Young != 1 {
		t.Errorf("%+v, %+v, %v", totals, found, err)
	}
	for n := range page + 1 {
		u.open = append(u.open, objectstore.Upload{Key: logs[0], ID: fmt.Sprint(n), Started: now.Add(-2 * time.Hour)})
	}
	if _, found, _ = scrubbed(t, u, func(c *Config) { c.Now = now }); len(found) != page+1 || !strings.Contains(found[page].Text, "more than") {
		t.Errorf("%d findings", len(found))
	}
	u.err = status.Errorf(status.Unsupported, "no such request")
	if _, _, err = scrubbed(t, u, nil); !status.Is(err, status.Unsupported) {
		t.Errorf("%v", err)
	}
}
