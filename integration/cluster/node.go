package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const log4j = `<?xml version="1.0" encoding="UTF-8"?>
<Configuration status="WARN"><Appenders><Console name="out" target="%s"><PatternLayout pattern="[%%d] %%p %%m (%%c)%%n"/></Console></Appenders>
<Loggers><Root level="%s"><AppenderRef ref="out"/></Root><Logger name="io.tidemark" level="DEBUG"/></Loggers></Configuration>
`

func (n *Node) format() error {
	for _, d := range append([]string{n.dir}, n.LogDirs...) {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	c := n.cluster
	if err := os.WriteFile(filepath.Join(c.options.Dir, "log4j2.xml"), fmt.Appendf(nil, log4j, "SYSTEM_OUT", "INFO"), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(c.options.Dir, "log4j2-tools.xml"), fmt.Appendf(nil, log4j, "SYSTEM_ERR", "WARN"), 0o644); err != nil {
		return err
	}
	if err := n.WriteProperties(nil); err != nil {
		return err
	}
	return n.formatDirs()
}

func (n *Node) formatDirs() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	_, err := n.Tool(ctx, "kafka.tools.StorageTool", "format", "-t", n.cluster.id, "-c", n.PropertiesFile())
	return err
}

// Erase empties the log directories of a stopped node and formats them: the broker comes back with a new disk.
func (n *Node) Erase() error {
	for _, d := range n.LogDirs {
		if err := os.RemoveAll(d); err != nil {
			return err
		}
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	return n.formatDirs()
}

// SetVersion makes the node run another version of Kafka, with the same Tidemark jar, from its next start on.
func (n *Node) SetVersion(version string) error {
	jars, err := Fetch(version)
	if err != nil {
		return err
	}
	libs := filepath.Join(n.cluster.options.Dir, "libs-"+version)
	if _, err := os.Stat(libs); err != nil {
		if err := n.cluster.linkLibs(libs, jars); err != nil {
			return err
		}
	}
	n.libs = libs
	return nil
}

// Tool runs a main class of the Kafka that the node runs.
func (n *Node) Tool(ctx context.Context, class string, args ...string) (string, error) {
	return n.cluster.tool(ctx, n.libs, nil, class, args...)
}

// PropertiesFile is the node's server.properties.
func (n *Node) PropertiesFile() string { return filepath.Join(n.dir, "server.properties") }

// LogFile is what the broker printed, over all its lives.
func (n *Node) LogFile() string { return filepath.Join(n.dir, "server.log") }

// Dir is the node's directory.
func (n *Node) Dir() string { return n.dir }

// WriteProperties writes server.properties; changes replace or, when empty, remove properties for this node.
func (n *Node) WriteProperties(changes map[string]string) error {
	p := n.cluster.properties(n)
	for k, v := range changes {
		if v == "" {
			delete(p, k)
		} else {
			p[k] = v
		}
	}
	return writeProperties(n.PropertiesFile(), p)
}

// SetProperty changes one property in server.properties as it is, or adds it.
func (n *Node) SetProperty(key, value string) error {
	b, err := os.ReadFile(n.PropertiesFile())
	if err != nil {
		return err
	}
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(b)), "\n"), func(l string) bool { return strings.HasPrefix(l, key+"=") })
	return os.WriteFile(n.PropertiesFile(), []byte(strings.Join(append(lines, key+"="+value), "\n")+"\n"), 0o644)
}

// Start starts the broker and waits until it serves.
func (n *Node) Start(ctx context.Context) error {
	if err := n.launch(); err != nil {
		return err
	}
	return n.AwaitReady(ctx)
}

// launch starts the process.
func (n *Node) launch() error {
	log, err := os.OpenFile(n.LogFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return err
	}
	n.from = int(info.Size())
	o := n.cluster.options
	args := []string{"-Xmx" + o.Heap, "-Xms" + o.Heap, "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:+ExplicitGCInvokesConcurrent",
		"-Dkafka.logs.dir=" + n.dir, "-Djava.io.tmpdir=" + n.dir, "-Dlog4j2.configurationFile=" + filepath.Join(o.Dir, "log4j2.xml")}
	args = append(args, o.JVMArgs...)
	args = append(args, "-cp", n.libs+"/*", "kafka.Kafka", n.PropertiesFile())
	cmd := exec.Command(o.Java, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start broker %d: %w", n.ID, err)
	}
	ended := make(chan struct{})
	n.mu.Lock()
	n.cmd, n.ended = cmd, ended
	n.mu.Unlock()
	go func() { _ = cmd.Wait(); close(ended) }()
	return nil
}

// AwaitReady waits until the broker says it has started.
func (n *Node) AwaitReady(ctx context.Context) error {
	for {
		if strings.Contains(n.LifeLog(), "Kafka Server started") {
			return nil
		}
		select {
		case <-n.ended:
			return fmt.Errorf("broker %d ended while starting:\n%s", n.ID, n.LogTail(40))
		case <-ctx.Done():
			return fmt.Errorf("broker %d is not ready: %w\n%s", n.ID, ctx.Err(), n.LogTail(40))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// AwaitEnd waits until the process is gone by itself.
func (n *Node) AwaitEnd(ctx context.Context) error {
	select {
	case <-n.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("broker %d still runs: %w\n%s", n.ID, ctx.Err(), n.LogTail(40))
	}
}

// LifeLog is what the broker printed since it was last started.
func (n *Node) LifeLog() string { return n.Log()[n.from:] }

// Log is everything the broker printed.
func (n *Node) Log() string { b, _ := os.ReadFile(n.LogFile()); return string(b) }

// LogTail is the last lines of the log.
func (n *Node) LogTail(lines int) string {
	all := strings.Split(strings.TrimSpace(n.Log()), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// Alive reports whether the process runs.
func (n *Node) Alive() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd == nil {
		return false
	}
	select {
	case <-n.ended:
		return false
	default:
		return true
	}
}

// ExitCode is how the process ended, as a shell shows it: 128 + n after signal n. It is false while the process runs.
func (n *Node) ExitCode() (int, bool) {
	if n.Alive() || n.cmd == nil || n.cmd.ProcessState == nil {
		return 0, false
	}
	status := n.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal()), true
	}
	return status.ExitStatus(), true
}

// PID is the broker's process id, 0 when it does not run.
func (n *Node) PID() int {
	if !n.Alive() {
		return 0
	}
	return n.cmd.Process.Pid
}

// Kill ends the broker with SIGKILL and waits until it is gone.
func (n *Node) Kill() { n.signal(syscall.SIGKILL, time.Minute) }

// Pause stops the process without ending it, until Resume or Kill.
func (n *Node) Pause() {
	if pid := n.PID(); pid > 0 {
		_ = syscall.Kill(pid, syscall.SIGSTOP)
	}
}

// Resume undoes Pause.
func (n *Node) Resume() {
	if pid := n.PID(); pid > 0 {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
}

// Stop ends the broker politely, after d by force. It reports whether it ended by itself.
func (n *Node) Stop(d time.Duration) bool {
	if n.signal(syscall.SIGTERM, d) {
		return true
	}
	n.Kill()
	return false
}

func (n *Node) signal(s syscall.Signal, d time.Duration) bool {
	if !n.Alive() {
		return true
	}
	_ = syscall.Kill(n.cmd.Process.Pid, s)
	select {
	case <-n.ended:
		return true
	case <-time.After(d):
		return false
	}
}
