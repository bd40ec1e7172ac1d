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

	MetricsURL string // Prometheus text of the server about itself; "" when it has none

	dir, binary string
	args        []string
	ports       []int
	logFile     string
	cmd         *exec.Cmd
	ended       chan struct{}
}

// Config is the settings of a store in this server, below a prefix.
func (s *Server) Config(prefix string) s3.Config {
	return s3.Config{Bucket: s.Bucket, Prefix: prefix, Region: Region, Endpoint: s.Endpoint, PathStyle: true, Credentials: s3.Static,
		AccessKey: s.AccessKey, SecretKey: telemetry.Secret(s.SecretKey),
		SinglePutBelow: 32 << 20, Concurrency: 4, Connections: 64, Checksum: s3.CRC32C, SignPayload: true}
}

// DataDir is where the server keeps its objects.
func (s *Server) DataDir() string { return filepath.Join(s.dir, "data") }

// Log is everything the server printed.
func (s *Server) Log() string {
	b, _ := os.ReadFile(s.logFile)
	return string(b)
}

// Stop ends the server and waits until it is gone. What it has acknowledged is there after Restart.
func (s *Server) Stop() {
	_ = syscall.Kill(-s.PID, syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(2 * time.Second): // SeaweedFS lingers
		_ = syscall.Kill(-s.PID, syscall.SIGKILL)
		<-s.ended
	}
	for _, port := range s.ports { // SeaweedFS's sockets, which a kill leaves behind
		for _, p := range []int{port, port + second} {
			left, _ := filepath.Glob(fmt.Sprintf("/tmp/seaweedfs-*-%d.sock", p))
			for _, name := range left {
				_ = os.Remove(name)
			}
		}
	}
}

// Restart starts a stopped server again, at the same endpoint with the same objects.
func (s *Server) Restart(ctx context.Context) error { return s.launch(ctx) }

// Pause stops the process without ending it: the server takes connections and answers nothing until Resume.
func (s *Server) Pause() {
	_ = syscall.Kill(-s.PID, syscall.SIGSTOP)
	for end := time.Now().Add(10 * time.Second); !s.standsStill() && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // the signal reaches each thread in its own time
	}
}

// standsStill tells that every thread is stopped.
func (s *Server) standsStill() bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", s.PID))
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		if _, state, ok := strings.Cut(string(stat), ") "); err == nil && ok && !strings.HasPrefix(state, "T") {
			return false
		}
	}
	return true
}

// Resume undoes Pause.
func (s *Server) Resume() { _ = syscall.Kill(-s.PID, syscall.SIGCONT) }

// newServer describes a server that keeps everything in dir; the first port is for S3.
func newServer(dir, binary string, ports []int, args []string) *Server {
	return &Server{Endpoint: fmt.Sprint("http://127.0.0.1:", ports[0]), AccessKey: accessKey, SecretKey: secretKey, Bucket: bucket,
		dir: dir, binary: binary, args: args, ports: ports, logFile: filepath.Join(dir, "server.log")}
}

// launch runs the process and waits until the store works.
func (s *Server) launch(ctx context.Context) error {
	log, err := os.OpenFile(s.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd, ended := exec.Command(s.binary, s.args...), make(chan struct{})
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "HOME="+s.dir)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", s.binary, err)
	}
	s.cmd, s.ended, s.PID = cmd, ended, cmd.Process.Pid
	go func() { _ = cmd.Wait(); close(ended) }()
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	if err := s.awaitReady(ctx); err != nil {
		s.Stop()
		return fmt.Errorf("%s does not serve: %w\nthe end of %s:\n%s", filepath.Base(s.binary), err, s.logFile, tail(s.Log(), 30))
	}
	return nil
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

// start launches what describe makes, again with other ports if one was lost to another process.
func start(ctx context.Context, describe func() (*Server, error)) (*Server, error) {
	for try := 1; ; try++ {
		s, err := describe()
		if err != nil {
			return nil, err
		}
		err = s.launch(ctx)
		if err == nil {
			return s, nil
		}
		if try == tries || !strings.Contains(err.Error(), "address already in use") {
			return nil, err
		}
	}
}
