package objectserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/s3"
	"tidemark/internal/status"
)

// Keys that the server does not know any more are refused by name, and new ones in the file are taken by the open store.
func TestRotatedKeys(t *testing.T) {
	server := run(t, Start)
	file := filepath.Join(t.TempDir(), "credentials")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	keys := func(id, secret string) string {
		return fmt.Sprintf("[default]\naws_access_key_id=%s\naws_secret_access_key=%s\n", id, secret)
	}
	write(file, keys(server.AccessKey, server.SecretKey))
	st := store(t, server, "rotated", func(c *s3.Config) {
		c.Credentials, c.CredentialsFile, c.AccessKey, c.SecretKey = s3.Profile, file, "", ""
	})
	put := func() error {
		_, err := st.Put(t.Context(), "a", strings.NewReader("x"), objectstore.Condition{})
		return err
	}
	if err := put(); err != nil {
		t.Fatal(err)
	}
	server.Stop()
	server.AccessKey, server.SecretKey = "tidemark-next", "tidemark-next-secret"
	write(filepath.Join(server.dir, "s3.json"), fmt.Sprintf(identities, server.AccessKey, server.SecretKey))
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := put(); !status.Is(err, status.Transient) || !strings.Contains(err.Error(), "InvalidAccessKeyId") || !strings.Contains(err.Error(), "new ones") || strings.Contains(err.Error(), secretKey) {
		t.Errorf("with the old keys: %v: %v", status.Of(err), err)
	}
	write(file, keys(server.AccessKey, server.SecretKey))
	if err := put(); err != nil { // what was refused has made the store read the file again
		t.Errorf("with the new keys: %v", err)
	}
}
