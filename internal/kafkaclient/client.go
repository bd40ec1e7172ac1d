package kafkaclient

import (
	"context"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/status"
)

// CallTimeout bounds a call whose context has no deadline.
const CallTimeout = 30 * time.Second

// Config is how to reach the cluster. All fields are required.
type Config struct {
	Bootstrap string // host:port, several separated by commas
	ClientID  string // shown in the broker's request log and quotas
	Log       *slog.Logger
}

// Validate returns all faults at once; its class is Invalid.
func (c Config) Validate() error {
	var faults []string
	if _, err := c.seeds(); err != nil {
		faults = append(faults, err.Error())
	}
	if c.ClientID == "" {
		faults = append(faults, "ClientID is empty")
	}
	if c.Log == nil {
		faults = append(faults, "Log is nil")
	}
	if len(faults) > 0 {
		return status.Errorf(status.Invalid, "Kafka client: %s", strings.Join(faults, "; "))
	}
	return nil
}

func (c Config) seeds() ([]string, error) {
	var seeds []string
	for _, s := range strings.Split(c.Bootstrap, ",") {
		s = strings.TrimSpace(s)
		host, port, err := net.SplitHostPort(s)
		n, perr := strconv.Atoi(port)
		if err != nil || host == "" || perr != nil || n < 1 || n > 65535 {
			return nil, status.Errorf(status.Invalid, "Bootstrap: %q is not host:port", s)
		}
		seeds = append(seeds, s)
	}
	return seeds, nil
}

// Client talks to one cluster.
type Client struct {
	cfg Config
	cl  *kgo.Client
	adm *kadm.Client
}

// Open makes a client; it does no network I/O, so a cluster that is not up yet is no error. Close it.
func Open(cfg Config) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg}
	var err error
	if c.cl, err = c.connect(); err != nil {
		return nil, err
	}
	c.adm = kadm.NewClient(c.cl)
	return c, nil
}

// Close ends all calls with Closed and releases the connections.
func (c *Client) Close() { c.cl.Close() }

// connect makes a client of the library with connections of its own.
func (c *Client) connect() (*kgo.Client, error) {
	seeds, err := c.cfg.seeds()
	if err != nil {
		return nil, err
	}
	cl, err := kgo.NewClient(
		kgo.SeedBrokers(seeds...),
		kgo.ClientID(c.cfg.ClientID),
		kgo.WithLogger(logAdapter{c.cfg.Log}),
		kgo.DisableClientMetrics(),
		kgo.MetadataMinAge(250*time.Millisecond),
		kgo.DialTimeout(10*time.Second),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordDeliveryTimeout(CallTimeout),
	)
	if err != nil {
		return nil, status.Errorf(status.Invalid, "Kafka client: %w", err)
	}
	return cl, nil
}

// bounded gives ctx the default deadline when it has none.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, CallTimeout)
}

// logAdapter passes the library's warnings on at debug level: it repeats them with every attempt, and the callers report
// what came of the call.
type logAdapter struct{ log *slog.Logger }

// Level implements kgo.Logger.
func (logAdapter) Level() kgo.LogLevel { return kgo.LogLevelWarn }

// Log implements kgo.Logger.
func (a logAdapter) Log(_ kgo.LogLevel, msg string, keyvals ...any) {
	a.log.Debug("kafka.client", append([]any{"message", msg}, keyvals...)...)
}
