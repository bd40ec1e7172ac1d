package objectserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrNoVersity says that there is no second server to test with.
var ErrNoVersity = errors.New("versitygw is not built yet: `integration/tools.sh servers` builds it into the cache")

// versityVersion is what integration/tools.sh builds.
const versityVersion = "v1.8.0"

// StartVersity starts versitygw, a second opinion on the protocol, from the cache that tools.sh fills. The file system of dir must
// have user attributes.
func StartVersity(ctx context.Context, dir string) (*Server, error) {
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	binary := filepath.Join(cache, "bin", "versitygw-"+versityVersion)
	if _, err := os.Stat(binary); err != nil {
		return nil, ErrNoVersity
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(filepath.Join(data, bucket), 0o755); err != nil {
		return nil, err
	}
	return start(ctx, func() (*Server, error) {
		p, err := freePorts(1)
		if err != nil {
			return nil, err
		}
		// Never --sidecar: its If-Match is not atomic.
		args := []string{"--port", fmt.Sprint("127.0.0.1:", p[0]), "--access", accessKey, "--secret", secretKey, "--quiet", "posix", data}
		return newServer(dir, binary, p, args), nil
	})
}
