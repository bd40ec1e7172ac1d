package assemble

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"tidemark/catalog/builtin"
	"tidemark/internal/budget"
	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/s3"
	"tidemark/internal/status"
)

// retry is how patiently idempotent calls to the store are repeated within their caller's deadline.
var retry = budget.Retry{Attempts: 5, Base: 200 * time.Millisecond, Max: 5 * time.Second}

// openStore opens the store a configuration names. A store that cannot be reached now is opened again when it is used; one that can
// never work is an error.
func openStore(ctx context.Context, c Config, log *slog.Logger) (objectstore.Store, error) {
	switch c.Store.Type {
	case StoreFile:
		return openLate("file://"+c.Store.Path, func() (objectstore.Store, error) {
			return objectstore.OpenFile(c.Store.Path, objectstore.FileOptions{})
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

// OpenStore opens the store and the catalog of a configuration, for the operator's command.
func OpenStore(ctx context.Context, properties map[string]string, log *slog.Logger) (objectstore.Store, *builtin.Catalog, error) {
	c, err := Parse(properties)
	if err != nil {
		return nil, nil, err
	}
	store, err := openStore(ctx, c, log)
	if err != nil {
		return nil, nil, err
	}
	store = objectstore.Retrying(store, retry)
	catalog, err := openCatalog(c, store, log)
	return store, catalog, err
}

// late is a store that is opened when it is first used, if it could not be opened at the start.
type late struct {
	name string
	open func() (objectstore.Store, error)

	mu      sync.Mutex
	store   objectstore.Store
	nextTry time.Time
	lastErr error
}

func openLate(name string, open func() (objectstore.Store, error)) (objectstore.Store, error) {
	l := &late{name: name, open: open}
	s, err := open()
	switch status.Of(err) {
	case status.OK:
		l.store = s
	case status.Unsupported, status.Invalid:
		return nil, err
	default:
		l.failed(err)
	}
	return l, nil
}

// reopenAfter bounds how often a store that cannot be opened is tried.
const reopenAfter = time.Second

func (l *late) get() (objectstore.Store, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.store != nil {
		return l.store, nil
	}
	if time.Now().Before(l.nextTry) {
		return nil, l.lastErr
	}
	s, err := l.open()
	if err != nil {
		l.failed(err)
		return nil, err
	}
	l.store = s
	return s, nil
}

// failed notes an attempt to open the store. l.mu is held, or l is new.
func (l *late) failed(err error) { l.nextTry, l.lastErr = time.Now().Add(reopenAfter), err }

// Get opens the store if need be, as the other methods do.
func (l *late) Get(ctx context.Context, key string, limit int64) ([]byte, objectstore.Info, error) {
	s, err := l.get()
	if err != nil {
		return nil, objectstore.Info{}, err
	}
	return s.Get(ctx, key, limit)
}

func (l *late) ReadRange(ctx context.Context, key string, dst []byte, offset int64) error {
	s, err := l.get()
	if err != nil {
		return err
	}
	return s.ReadRange(ctx, key, dst, offset)
}

func (l *late) Head(ctx context.Context, key string) (objectstore.Info, error) {
	s, err := l.get()
	if err != nil {
		return objectstore.Info{}, err
	}
	return s.Head(ctx, key)
}

func (l *late) List(ctx context.Context, prefix, after string, max int) ([]objectstore.Info, bool, error) {
	s, err := l.get()
	if err != nil {
		return nil, false, err
	}
	return s.List(ctx, prefix, after, max)
}

func (l *late) Put(ctx context.Context, key string, src objectstore.Source, cond objectstore.Condition) (objectstore.Info, error) {
	s, err := l.get()
	if err != nil {
		return objectstore.Info{}, err
	}
	return s.Put(ctx, key, src, cond)
}

func (l *late) Delete(ctx context.Context, keys ...string) error {
	s, err := l.get()
	if err != nil {
		return err
	}
	return s.Delete(ctx, keys...)
}

func (l *late) URI(key string) string {
	if s, err := l.get(); err == nil {
		return s.URI(key)
	}
	return l.name + "/" + key
}

func (l *late) Key(uri string) (string, bool) {
	if s, err := l.get(); err == nil {
		return s.Key(uri)
	}
	return "", false
}

// where is the store in words.
func (c *Config) where() string {
	if c.Store.Type == StoreFile {
		return "file://" + c.Store.Path
	}
	if c.S3.Endpoint == "" {
		return "s3://" + c.S3.Bucket
	}
	return "s3://" + c.S3.Bucket + " at " + c.S3.Endpoint
}
