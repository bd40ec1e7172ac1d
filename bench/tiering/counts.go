package tiering

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// counts are what a store has been asked for, by its own account.
type counts struct {
	puts, gets, lists, deletes float64
	received, sent             float64 // bytes of objects
}

func (c counts) minus(before counts) counts {
	return counts{c.puts - before.puts, c.gets - before.gets, c.lists - before.lists, c.deletes - before.deletes,
		c.received - before.received, c.sent - before.sent}
}

// scrape reads the counters of SeaweedFS.
func scrape(ctx context.Context, url string) (counts, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return counts{}, err
	}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		return counts{}, err
	}
	defer reply.Body.Close()
	return parseCounts(reply.Body)
}

func parseCounts(src io.Reader) (c counts, err error) {
	lines := bufio.NewScanner(src)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, text, ok := strings.Cut(lines.Text(), "} ")
		if !ok || !strings.HasPrefix(name, "SeaweedFS_s3_") {
			continue
		}
		name, labels, _ := strings.Cut(name, "{")
		if name != "SeaweedFS_s3_request_total" && !strings.HasPrefix(name, "SeaweedFS_s3_bucket_traffic_") {
			continue
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return c, fmt.Errorf("%s: %w", lines.Text(), err)
		}
		switch name {
		case "SeaweedFS_s3_bucket_traffic_sent_bytes_total":
			c.sent += v
		case "SeaweedFS_s3_bucket_traffic_received_bytes_total":
			c.received += v
		case "SeaweedFS_s3_request_total":
			c.add(labels, v)
		}
	}
	return c, lines.Err()
}

// add counts requests by what a store charges for them.
func (c *counts) add(labels string, v float64) {
	_, kind, _ := strings.Cut(labels, `type="`)
	kind, _, _ = strings.Cut(kind, `"`)
	switch kind {
	case "GET", "HEAD":
		c.gets += v
	case "LIST":
		c.lists += v
	case "DELETE", "UNTAG":
		c.deletes += v
	default: // PUT, POST and what multipart uploads need
		c.puts += v
	}
}
