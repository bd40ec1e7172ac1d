package s3

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"

	"tidemark/internal/objectstore"
	"tidemark/internal/status"
)

// probePrefix is outside of what objects can be called.
const probePrefix = ".tidemark/probe-"

// Probe finds out whether conditions hold: some stores accept the header and ignore it. Two writers create one object at
// once, two replace it at once, and one tries with an ETag that is no longer right; each time exactly one may win. A store
// that lets two win is Unsupported, by name. Anything else is the error of the request that failed; the probe says nothing
// then and may be repeated.
func (s *Store) Probe(ctx context.Context) error {
	key := probePrefix + rand.Text()
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortWait)
		defer cancel()
		if err := s.remove(ctx, key); err != nil {
			s.log.Warn("s3.probe.left", "key", key, "class", status.Of(err).String(), "error", err.Error())
		}
	}()
	first, err := s.compete(ctx, key, "If-None-Match", objectstore.Condition{Absent: true})
	if err != nil {
		return err
	}
	second, err := s.compete(ctx, key, "If-Match", objectstore.Condition{Match: first.ETag})
	if err != nil {
		return err
	}
	if second.ETag == first.ETag {
		return status.Errorf(status.Unsupported, "%s gives two contents the same ETag: its conditional writes cannot be relied on", s.config.where())
	}
	return s.mustLose(ctx, key, "If-Match", objectstore.Condition{Match: first.ETag})
}

// compete lets two writers put under one condition that only one can meet, and returns what the winner wrote.
func (s *Store) compete(ctx context.Context, key, header string, cond objectstore.Condition) (objectstore.Info, error) {
	var infos [2]objectstore.Info
	var errs [2]error
	var both sync.WaitGroup
	for i := range errs {
		both.Add(1)
		started := s.parts.Go("probe", func(context.Context) {
			defer both.Done()
			infos[i], errs[i] = s.putProbe(ctx, key, fmt.Sprintf("%s by %d", header, i), cond)
		})
		if !started {
			both.Done()
			errs[i] = status.Errorf(status.Closed, "probe: the store is closed")
		}
	}
	both.Wait()
	if errs[0] == nil && errs[1] == nil {
		return objectstore.Info{}, s.ignores(header)
	}
	for i := range errs {
		if errs[i] != nil {
			continue
		}
		if status.Is(errs[1-i], status.Conflict) {
			return infos[i], nil
		}
		// The other met the winner on its way (409) or was slowed down: now it has to lose.
		return infos[i], s.mustLose(ctx, key, header, cond)
	}
	if status.Is(errs[0], status.Conflict) {
		return objectstore.Info{}, errs[1]
	}
	return objectstore.Info{}, errs[0]
}

func (s *Store) mustLose(ctx context.Context, key, header string, cond objectstore.Condition) error {
	_, err := s.putProbe(ctx, key, header+" too late", cond)
	switch {
	case err == nil:
		return s.ignores(header)
	case status.Is(err, status.Conflict):
		return nil
	}
	return err
}

func (s *Store) putProbe(ctx context.Context, key, content string, cond objectstore.Condition) (objectstore.Info, error) {
	return s.putWhole(ctx, key, strings.NewReader(content+" "+key), cond, None)
}

func (s *Store) ignores(header string) error {
	return status.Errorf(status.Unsupported, "%s does not hold %s: two writers succeeded where one may. A table catalog cannot be kept there; "+
		"use a store with conditional writes (Amazon S3, and recent versions of its look-alikes)", s.config.where(), header)
}
