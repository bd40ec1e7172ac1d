package kafkaclient

import (
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"tidemark/internal/status"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// cluster starts kfake with the given options and a client on it.
func cluster(t *testing.T, opts ...kfake.Opt) (*kfake.Cluster, *Client) {
	t.Helper()
	k, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(2)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k, clientOf(t, strings.Join(k.ListenAddrs(), ","))
}

func clientOf(t *testing.T, bootstrap string) *Client {
	t.Helper()
	c, err := Open(Config{Bootstrap: bootstrap, ClientID: "test", Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// wantClass fails the test unless err has the class and all the words.
func wantClass(t *testing.T, err error, class status.Class, words ...string) {
	t.Helper()
	if status.Of(err) != class {
		t.Fatalf("class %s instead of %s: %v", status.Of(err), class, err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error text without %q: %v", w, err)
		}
	}
}

func TestConfigFaults(t *testing.T) {
	_, err := Open(Config{Bootstrap: "localhost:1,nowhere"})
	wantClass(t, err, status.Invalid, `"nowhere"`, "ClientID", "Log")
	for _, bad := range []string{"", ":9092", "h:0", "h:65536", "h:9092,"} {
		if _, err := Open(Config{Bootstrap: bad, ClientID: "x", Log: quiet}); !status.Is(err, status.Invalid) {
			t.Errorf("bootstrap %q: %v", bad, err)
		}
	}
}

func TestUnreachableCluster(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	c := clientOf(t, address)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, err = c.DescribeTopic(ctx, "t")
	wantClass(t, err, status.Transient, "topic t")
	wantClass(t, c.Produce(ctx, "t", nil, nil), status.Unknown)
	if _, known, err := c.Lineage(ctx, "t", 0, 1, 1); known || err != nil {
		t.Errorf("lineage without a cluster: known %v, %v", known, err)
	}
	cancelled, stop := context.WithCancel(t.Context())
	stop()
	_, err = c.Topics(cancelled)
	wantClass(t, err, status.Cancelled)
}

func TestClosed(t *testing.T) {
	_, c := cluster(t, kfake.SeedTopics(1, "t"))
	c.Close()
	_, err := c.DescribeTopic(testContext(t), "t")
	wantClass(t, err, status.Closed)
}
