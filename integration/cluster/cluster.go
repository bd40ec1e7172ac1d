package cluster

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Cluster is running brokers.
type Cluster struct {
	Nodes   []*Node
	options Options
	libs    string // the folder the brokers run from: Kafka's jars and ours; other versions have one each beside it
	id      string
}

// Node is one broker and controller.
type Node struct {
	ID      int
	Port    int
	LogDirs []string

	cluster        *Cluster
	dir            string
	libs           string // the folder it runs from
	controllerPort int

	mu    sync.Mutex
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process is gone
	from  int           // where in the log the current life begins
}

// Start lays out, formats and starts a cluster and waits until every broker serves.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	c, err := Prepare(o)
	if err != nil {
		return nil, err
	}
	if err := c.StartAll(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// StartAll starts all brokers of a prepared cluster and waits until they serve. After an error none runs.
func (c *Cluster) StartAll(ctx context.Context) error {
	for _, n := range c.Nodes {
		if err := n.launch(); err != nil {
			c.Stop()
			return err
		}
	}
	for _, n := range c.Nodes {
		if err := n.AwaitReady(ctx); err != nil {
			c.Stop()
			return err
		}
	}
	return nil
}

// Prepare lays out and formats a cluster without starting it.
func Prepare(o Options) (*Cluster, error) {
	if err := o.defaults(); err != nil {
		return nil, err
	}
	jars, err := Fetch(o.Version)
	if err != nil {
		return nil, err
	}
	c := &Cluster{options: o, libs: filepath.Join(o.Dir, "libs"), id: "dGlkZW1hcmstdGVzdC1jbA"}
	if err := c.linkLibs(c.libs, jars); err != nil {
		return nil, err
	}
	ports, err := FreePorts(2 * o.Nodes)
	if err != nil {
		return nil, err
	}
	for i := range o.Nodes {
		n := &Node{ID: i + 1, Port: ports[2*i], controllerPort: ports[2*i+1], cluster: c,
			dir: filepath.Join(o.Dir, fmt.Sprintf("node-%d", i+1)), libs: c.libs}
		for d := range o.LogDirs {
			n.LogDirs = append(n.LogDirs, filepath.Join(n.dir, fmt.Sprintf("log-%d", d+1)))
		}
		c.Nodes = append(c.Nodes, n)
	}
	for _, n := range c.Nodes {
		if err := n.format(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// linkLibs makes a libs/ folder: links to Kafka's jars and a copy of ours, as an operator would drop it in.
func (c *Cluster) linkLibs(libs, jars string) error {
	if err := os.RemoveAll(libs); err != nil {
		return err
	}
	if err := os.MkdirAll(libs, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(jars)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.Symlink(filepath.Join(jars, e.Name()), filepath.Join(libs, e.Name())); err != nil {
			return err
		}
	}
	if c.options.Jar == "" {
		return nil
	}
	return copyJar(libs, c.options.Jar)
}

// SetJar puts a Tidemark jar into libs/, in place of the one before.
func (c *Cluster) SetJar(jar string) error { return copyJar(c.libs, jar) }

func copyJar(libs, jar string) error {
	old, _ := filepath.Glob(filepath.Join(libs, "tidemark-*.jar"))
	for _, o := range old {
		if err := os.Remove(o); err != nil {
			return err
		}
	}
	b, err := os.ReadFile(jar)
	if err != nil {
		return fmt.Errorf("the Tidemark jar is missing, make dist builds it: %w", err)
	}
	return os.WriteFile(filepath.Join(libs, filepath.Base(jar)), b, 0o644)
}

// SetJVMArgs replaces the additional arguments of brokers that are started from now on.
func (c *Cluster) SetJVMArgs(args ...string) { c.options.JVMArgs = args }

// Bootstrap is the address list for clients.
func (c *Cluster) Bootstrap() string {
	var addresses []string
	for _, n := range c.Nodes {
		addresses = append(addresses, fmt.Sprintf("127.0.0.1:%d", n.Port))
	}
	return strings.Join(addresses, ",")
}

// Dir is where the cluster lies.
func (c *Cluster) Dir() string { return c.options.Dir }

// Stop ends all brokers: politely, then after 60 s by force.
func (c *Cluster) Stop() {
	var wg sync.WaitGroup
	for _, n := range c.Nodes {
		wg.Add(1)
		go func() { defer wg.Done(); n.Stop(60 * time.Second) }()
	}
	wg.Wait()
}

// Tool runs a main class of Kafka's jars and returns what it printed.
func (c *Cluster) Tool(ctx context.Context, class string, args ...string) (string, error) {
	return c.ToolInput(ctx, nil, class, args...)
}

// ToolInput is Tool with standard input.
func (c *Cluster) ToolInput(ctx context.Context, stdin []byte, class string, args ...string) (string, error) {
	return c.tool(ctx, c.libs, stdin, class, args...)
}

func (c *Cluster) tool(ctx context.Context, libs string, stdin []byte, class string, args ...string) (string, error) {
	all := append([]string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m",
		"-Dlog4j2.configurationFile=" + filepath.Join(c.options.Dir, "log4j2-tools.xml"), "-cp", libs + "/*", class}, args...)
	cmd := exec.CommandContext(ctx, c.options.Java, all...)
	cmd.Stdin = bytes.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w\n%s%s", class, strings.Join(args, " "), err, out.String(), errs.String())
	}
	return out.String(), nil
}

// FreePorts returns ports nobody listens on now.
func FreePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // all are held until all are known
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
