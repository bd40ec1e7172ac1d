package versions

import (
	"log/slog"

	"tidemark/internal/objectstore/s3"
)

// open is the store behind the brokers, past the proxy.
func (s *slowStore) open() *s3.Store {
	s.Helper()
	store, err := s3.Open(s.Ctx, s.server.Config(""), slog.New(slog.DiscardHandler))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(store.Close)
	return store
}
