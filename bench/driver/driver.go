package driver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"tidemark/integration/cluster"
)

// Options describe a driver.
type Options struct {
	Kafka    string // version whose jars are on the class path
	Class    string // of the plugin
	Libs     string // folder with the plugin's jars
	Settings map[string]string
	Dir      string // of its files
	Heap     string
	Tmp      string // java.io.tmpdir, where a plugin may leave things for the next start; "" is Dir
}

// Driver is a running JVM.
type Driver struct {
	PID int

	cmd   *exec.Cmd
	in    io.WriteCloser
	log   string
	mu    sync.Mutex
	next  int
	wait  map[string]chan string
	ended chan struct{}
}

// compile puts Drive.class for a Kafka version into the cache and returns the class path.
func compile(kafka, dir string) (string, error) {
	libs, err := cluster.Fetch(kafka)
	if err != nil {
		return "", err
	}
	root, err := cluster.Root()
	if err != nil {
		return "", err
	}
	classes := filepath.Join(dir, "classes")
	out, err := exec.Command("javac", "-Xlint:all,-classfile", "-Werror", "--release", "17", "-proc:none", "-d", classes, "-cp", libs+"/*",
		filepath.Join(root, "bench", "driver", "java", "Drive.java")).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("compile the driver: %w\n%s", err, out)
	}
	return classes + ":" + libs + "/*", nil
}

// Cross measures calls into the native library, n of each kind, in nanoseconds a call: plain, guarded, and c into a function in C.
func (d *Driver) Cross(ctx context.Context, n int, dir string) (Answer, error) {
	root, err := cluster.Root()
	if err != nil {
		return nil, err
	}
	javac, err := exec.LookPath("javac")
	if err == nil {
		javac, err = filepath.EvalSymlinks(javac)
	}
	if err != nil {
		return nil, err
	}
	include, lib := filepath.Join(filepath.Dir(filepath.Dir(javac)), "include"), filepath.Join(dir, "libnothing.so")
	out, err := exec.Command("gcc", "-O2", "-shared", "-fPIC", "-I"+include, "-I"+include+"/linux", "-o", lib,
		filepath.Join(root, "bench", "driver", "java", "nothing.c")).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("compile the floor of native calls: %w\n%s", err, out)
	}
	return d.Do(ctx, "cross", n, lib)
}

const log4j = `<?xml version="1.0" encoding="UTF-8"?>
<Configuration status="ERROR"><Appenders><Console name="err" target="SYSTEM_ERR"><PatternLayout pattern="[%d] %p %m (%c)%n"/></Console></Appenders>
<Loggers><Root level="WARN"><AppenderRef ref="err"/></Root></Loggers></Configuration>
`

// Start runs a JVM; the plugin is not loaded yet.
func Start(o Options) (*Driver, error) {
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, err
	}
	classPath, err := compile(o.Kafka, o.Dir)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	for k, v := range o.Settings {
		fmt.Fprintf(&text, "%s=%s\n", k, v)
	}
	properties, logging := filepath.Join(o.Dir, "plugin.properties"), filepath.Join(o.Dir, "log4j2.xml")
	if err := os.WriteFile(properties, []byte(text.String()), 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(logging, []byte(log4j), 0o644); err != nil {
		return nil, err
	}
	if o.Heap == "" {
		o.Heap = "512m"
	}
	if o.Tmp == "" {
		o.Tmp = o.Dir
	}
	d := &Driver{log: filepath.Join(o.Dir, "driver.log"), wait: map[string]chan string{}, ended: make(chan struct{})}
	d.cmd = exec.Command("java", "-Xmx"+o.Heap, "-XX:+UseG1GC", "-Dlog4j2.configurationFile="+logging, "-Djava.io.tmpdir="+o.Tmp, "-cp", classPath, "Drive",
		o.Class, o.Libs, properties)
	return d, d.launch()
}

func (d *Driver) launch() error {
	log, err := os.Create(d.log)
	if err != nil {
		return err
	}
	defer log.Close()
	d.cmd.Stderr = log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if d.in, err = d.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := d.cmd.Start(); err != nil {
		return err
	}
	d.PID = d.cmd.Process.Pid
	started := make(chan string, 1)
	d.wait["-"] = started
	go d.listen(out)
	select {
	case <-started:
		return nil
	case <-d.ended:
		return d.dead()
	case <-time.After(time.Minute):
		d.Close()
		return fmt.Errorf("the driver did not start: %s", d.log)
	}
}

// listen hands answers to who waits for them, until the process is gone.
func (d *Driver) listen(out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		token, text, _ := strings.Cut(lines.Text(), " ")
		d.mu.Lock()
		c := d.wait[token]
		delete(d.wait, token)
		d.mu.Unlock()
		if c != nil {
			c <- text
		}
	}
	_ = d.cmd.Wait()
	close(d.ended)
}

func (d *Driver) dead() error {
	b, _ := os.ReadFile(d.log)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return fmt.Errorf("the driver's process ended:\n%s", strings.Join(lines[max(0, len(lines)-20):], "\n"))
}

// Answer is the names and numbers of an answer.
type Answer map[string]float64

// Took is the time that the answer is about.
func (a Answer) Took() time.Duration { return time.Duration(a["ns"]) }

// Do performs one command and waits for its answer.
func (d *Driver) Do(ctx context.Context, command ...any) (Answer, error) {
	d.mu.Lock()
	d.next++
	token := strconv.Itoa(d.next)
	c := make(chan string, 1)
	d.wait[token] = c
	line := token
	for _, part := range command {
		line += "\t" + fmt.Sprint(part)
	}
	_, err := io.WriteString(d.in, line+"\n")
	d.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case text := <-c:
		return parse(text)
	case <-d.ended:
		return nil, d.dead()
	case <-ctx.Done():
		return nil, fmt.Errorf("%v got no answer: %w", command[0], ctx.Err())
	}
}

func parse(text string) (Answer, error) {
	kind, rest, _ := strings.Cut(text, " ")
	if kind != "ok" {
		return nil, fmt.Errorf("%s", rest)
	}
	a := Answer{}
	for _, pair := range strings.Fields(rest) {
		k, v, _ := strings.Cut(pair, "=")
		n, err := strconv.ParseFloat(v, 64)
		if err != nil {
			return nil, fmt.Errorf("the driver answered %q", text)
		}
		a[k] = n
	}
	return a, nil
}

// Configure loads the plugin and configures it.
func (d *Driver) Configure(ctx context.Context) (Answer, error) { return d.Do(ctx, "configure") }

// Threads sets how many commands run at the same time from now on.
func (d *Driver) Threads(ctx context.Context, n int) error {
	_, err := d.Do(ctx, "threads", n)
	return err
}

// Copy copies a segment.
func (d *Driver) Copy(ctx context.Context, s Segment) (Answer, error) {
	a, err := d.Do(ctx, "copy", s.ID, s.ID, s.Base, s.End, s.MaxTimestamp, s.Dir)
	if err == nil && int64(a["bytes"]) != s.Size {
		err = fmt.Errorf("segment %d has %v bytes, %d were written", s.ID, a["bytes"], s.Size)
	}
	return a, err
}

// Fetch reads bytes start to end, inclusive, of a copied segment (end -1: all) with reads of buffer bytes, and compares them.
func (d *Driver) Fetch(ctx context.Context, s Segment, start, end int64, buffer int) (Answer, error) {
	a, err := d.Do(ctx, "fetch", s.ID, start, end, buffer)
	if err != nil {
		return nil, err
	}
	last := s.Size - 1
	if end >= 0 {
		last = min(end, last)
	}
	if int64(a["bytes"]) != last-start+1 || uint32(a["crc"]) != s.Sum(start, end) {
		return nil, fmt.Errorf("segment %d, bytes %d to %d: %v bytes came and differ from the file", s.ID, start, last, a["bytes"])
	}
	return a, nil
}

// Index reads an index of a copied segment: OFFSET, TIMESTAMP, PRODUCER_SNAPSHOT, LEADER_EPOCH.
func (d *Driver) Index(ctx context.Context, s Segment, kind string) (Answer, error) {
	return d.Do(ctx, "index", s.ID, kind)
}

// Delete deletes a copied segment.
func (d *Driver) Delete(ctx context.Context, s Segment) (Answer, error) {
	return d.Do(ctx, "delete", s.ID)
}

// Each performs f for every segment, n at a time, and returns the answers in the order of segments, or the first error.
func (d *Driver) Each(ctx context.Context, n int, segments []Segment, f func(context.Context, Segment) (Answer, error)) ([]Answer, error) {
	if err := d.Threads(ctx, n); err != nil {
		return nil, err
	}
	answers, errs := make([]Answer, len(segments)), make([]error, len(segments))
	var wg sync.WaitGroup
	for i, s := range segments {
		wg.Add(1)
		go func() { defer wg.Done(); answers[i], errs[i] = f(ctx, s) }()
	}
	wg.Wait()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return answers, errs[i]
	}
	return answers, nil
}

// Close closes the plugin and ends the process.
func (d *Driver) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	_, _ = d.Do(ctx, "close")
	_, _ = d.Do(ctx, "exit")
	cancel()
	_ = syscall.Kill(-d.PID, syscall.SIGKILL)
	<-d.ended
}
