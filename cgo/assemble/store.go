package assemble

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/catalog/builtin"
	"tidemark/internal/budget"
	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/s3"
	"tidemark/internal/status"
	"tidemark/internal/telemetry"
)

// retry is how patiently idempotent calls to the store are repeated within their caller's deadline: soon at first, because most failures are
// of one connection or one server, and for three seconds at most.
var retry = budget.Retry{Attempts: 7, Base: 50 * time.Millisecond, Max: 5 * time.Second}

// sharedRetry is retry within the broker's budget of retries, with metrics.
func sharedRetry(c StoreConfig, set *telemetry.Set) budget.Retry {
	count := set.Counters("store_retries_total", "Calls of the object store, and parts, completions and rests of bodies within them, that failed and were due to be repeated: made, or refused because the retries of all calls together had used up what the broker may make (store.retries.per.second, store.retries.burst); a refused call fails with its own error.",
		"result", "made", "refused")
	r := retry
	r.Shared, r.Made, r.Refused = budget.NewRate(float64(c.RetryRate), float64(c.RetryBurst)), count["made"].Inc, count["refused"].Inc
	return r
}

// ioLimit is the limit of all bytes between this broker and the store, nil if there is none.
func ioLimit(c Config, set *telemetry.Set) *budget.Limit {
	waited := set.Counter("io_limit_wait_seconds_total", "Time that calls of the object store waited for io.max.bytes.per.second, all together: while it grows the limit holds them back.")
	if c.Store.MaxRate == 0 {
		return nil
	}
	return budget.NewLimit("io.max.bytes.per.second", c.Store.MaxRate, waited.AddSeconds)
}

// openStore opens the store a configuration names. A store that cannot be reached now is opened again when it is used; one that can
// never work is an error. readOnly: nothing is written, not even what a file store makes when it is opened.
func openStore(ctx context.Context, c Config, readOnly bool, log *slog.Logger) (objectstore.Store, error) {
	switch c.Store.Type {
	case StoreFile:
		return openLate(c.where(), func() (objectstore.Store, error) {
			return objectstore.OpenFile(c.Store.Path, objectstore.FileOptions{ReadOnly: readOnly})
		})
	case StoreS3:
		return s3.Open(ctx, c.S3, log)
	}
	return nil, status.Errorf(status.Invalid, "store.type %q", c.Store.Type)
}

// openCatalog opens the built-in catalog on a store.
func openCatalog(c Config, store objectstore.Store, log *slog.Logger) (*builtin.Catalog, error) {
	cfg := builtin.Config{Mode: builtin.CreateOnly}
	if c.Store.Type == StoreS3 {
		cfg.Mode = builtin.Swap
		cfg.Reading = map[string]string{"s3.path-style-access": strconv.FormatBool(c.S3.PathStyle)}
		if c.S3.Endpoint != "" {
			cfg.Reading["s3.endpoint"] = c.S3.Endpoint
		}
		if c.S3.Region != "" {
			cfg.Reading["s3.region"], cfg.Reading["client.region"] = c.S3.Region, c.S3.Region
		}
	}
	return builtin.Open(store, cfg, log)
}

// StoreSettings are the keys of those properties that say where the store is, in order.
func StoreSettings(properties map[string]string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(properties)), func(key string) bool { return !strings.HasPrefix(key, "store.") })
}

// OpenStore opens the store and the catalog of a configuration for reading, for the operator's command. Other settings than
// StoreSettings do not count. The caller calls release at the end.
func OpenStore(ctx context.Context, properties map[string]string, log *slog.Logger) (store objectstore.Store, cat *builtin.Catalog, release func(), err error) {
	own := map[string]string{"local.dir": "/"} // needed by a broker only
	for _, key := range StoreSettings(properties) {
		own[key] = properties[key]
	}
	c, err := Parse(own)
	if err != nil {
		return nil, nil, nil, err
	}
	raw, err := openStore(ctx, c, true, log)
	if err != nil {
		return nil, nil, nil, err
	}
	store = objectstore.Retrying(raw, retry)
	cat, err = openCatalog(c, store, log)
	if err != nil {
		_ = closeStore(raw)
		return nil, nil, nil, err
	}
	return store, cat, func() { _ = closeStore(raw) }, nil
}

// closeStore gives back what a store holds. No call may follow.
func closeStore(store objectstore.Store) error {
	switch s := store.(type) {
	case interface{ Close() error }:
		return s.Close()
	case interface{ Close() }:
		s.Close()
	}
	return nil
}
