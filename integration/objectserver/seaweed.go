package objectserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Weed is the SeaweedFS binary: TIDEMARK_WEED, or the one in the Python environment of the cache.
func Weed() (string, error) {
	path := os.Getenv("TIDEMARK_WEED")
	if path == "" {
		cache, err := cacheDir()
		if err != nil {
			return "", err
		}
		path = filepath.Join(cache, "venv", "bin", "weed")
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("the S3 server for tests is not installed (%w): run `make tools`, or set TIDEMARK_WEED to a weed binary", err)
	}
	return path, nil
}

// cacheDir is where tools.sh installs.
func cacheDir() (string, error) {
	if dir := os.Getenv("TIDEMARK_CACHE"); dir != "" {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".cache", "tidemark"), err
}

const identities = `{"identities":[{"name":"tidemark","credentials":[{"accessKey":"%s","secretKey":"%s"}],
"actions":["Admin","Read","Write","List","Tagging"]}]}
`

// Start starts SeaweedFS with its data and log in dir.
func Start(ctx context.Context, dir string) (*Server, error) {
	weed, err := Weed()
	if err != nil {
		return nil, err
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	data, config := filepath.Join(dir, "data"), filepath.Join(dir, "s3.json")
	if err := errors.Join(os.MkdirAll(data, 0o755), os.WriteFile(config, fmt.Appendf(nil, identities, accessKey, secretKey), 0o600)); err != nil {
		return nil, err
	}
	return start(ctx, func() (*Server, error) {
		p, err := freePorts(6)
		if err != nil {
			return nil, err
		}
		args := []string{"mini", "-dir=" + data, "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3.config=" + config, "-bucket=" + bucket,
			fmt.Sprint("-s3.port=", p[0]), fmt.Sprint("-master.port=", p[1]), fmt.Sprint("-volume.port=", p[2]),
			fmt.Sprint("-filer.port=", p[3]), fmt.Sprint("-admin.port=", p[4]), fmt.Sprint("-metricsPort=", p[5]),
			"-s3.port.iceberg=0", "-s3.port.lance=0", "-webdav=false", "-admin.ui=false", "-master.telemetry=false"}
		s := newServer(dir, weed, p, args)
		s.MetricsURL = fmt.Sprintf("http://127.0.0.1:%d/metrics", p[5])
		return s, nil
	})
}
