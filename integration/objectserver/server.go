package objectserver

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/s3"
	"tidemark/internal/telemetry"
)

// Region is what clients have to sign for; the servers take any.
const Region = "us-east-1"

// Credentials and bucket of every server. They open nothing but a port of this machine for the time of a test.
const (
	accessKey = "tidemark-test"
	secretKey = "tidemark-test-secret"
	bucket    = "tidemark"
)

const (
	readyWait = 90 * time.Second
	tries     = 3 // another process may take a port between the choice and its use
)

// Server is a running S3 server.
type Server struct {
	Endpoint  string // http://127.0.0.1:port
	AccessKey string
	SecretKey string
	Bucket    string // exists and is empty
	PID       int

	logFile string
	cmd     *exec.Cmd
	ended   chan struct{}
}

// Config is the settings of a store in this server, below a prefix.
func (s *Server) Config(prefix string) s3.Config {
	return s3.Config{Bucket: s.Bucket, Prefix: prefix, Region: Region, Endpoint: s.Endpoint, PathStyle: true, Credentials: s3.Static,
		AccessKey: s.AccessKey, SecretKey: telemetry.Secret(s.SecretKey),
		SinglePutBelow: 16 << 20, PartSize: 16 << 20, Concurrency: 4, Connections: 64}
}

// Log is everything the server printed.
func (s *Server) Log() string {
	b, _ := os.ReadFile(s.logFile)
	return string(b)
}

// Stop ends the server, after 10 seconds by force, and waits until it is gone.
func (s *Server) Stop() {
	_ = syscall.Kill(-s.PID, syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(10 * time.Second):
		_ = syscall.Kill(-s.PID, syscall.SIGKILL)
		<-s.ended
	}
}

// Pause stops the process without ending it: the server takes connections and answers nothing until Resume.
func (s *Server) Pause() { _ = syscall.Kill(-s.PID, syscall.SIGSTOP) }

// Resume undoes Pause.
func (s *Server) Resume() { _ = syscall.Kill(-s.PID, syscall.SIGCONT) }

// launch runs a command in dir and waits until the store works.
func launch(ctx context.Context, dir, endpoint, binary string, args, env []string) (*Server, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	s := &Server{Endpoint: endpoint, AccessKey: accessKey, SecretKey: secretKey, Bucket: bucket,
		logFile: filepath.Join(dir, "server.log"), ended: make(chan struct{})}
	log, err := os.Create(s.logFile)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	s.cmd = exec.Command(binary, args...)
	s.cmd.Dir = dir
	s.cmd.Env = append(append(os.Environ(), "HOME="+dir), env...)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", binary, err)
	}
	s.PID = s.cmd.Process.Pid
	go func() { _ = s.cmd.Wait(); close(s.ended) }()
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	if err := s.awaitReady(ctx); err != nil {
		s.Stop()
		return nil, fmt.Errorf("%s does not serve: %w\nthe end of %s:\n%s", filepath.Base(binary), err, s.logFile, tail(s.Log(), 30))
	}
	return s, nil
}

// awaitReady writes and removes an object until that works.
func (s *Server) awaitReady(ctx context.Context) error {
	store, err := s3.Open(ctx, s.Config("ready"), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		return err
	}
	defer store.Close()
	for {
		attempt, cancel := context.WithTimeout(ctx, 5*time.Second)
		_, err := store.Put(attempt, "probe", strings.NewReader("x"), objectstore.Condition{})
		if err == nil {
			err = store.Delete(attempt, "probe")
		}
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-s.ended:
			return fmt.Errorf("the process ended: %v", s.cmd.ProcessState)
		case <-ctx.Done():
			return fmt.Errorf("not ready in time: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// retry starts a server again with other ports if it has lost one to another process.
func retry(start func() (*Server, error)) (*Server, error) {
	for try := 1; ; try++ {
		s, err := start()
		if err == nil || try == tries || !strings.Contains(err.Error(), "address already in use") {
			return s, err
		}
	}
}
