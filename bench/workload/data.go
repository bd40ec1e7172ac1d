package workload

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"
)

// Kind is a kind of data by its entropy.
type Kind string

// The kinds. zstd at level 1 over a MiB makes about 1/8, 1/5 and the whole of them.
const (
	Logs   Kind = "logs"   // lines of a service's log, 150 to 400 bytes
	Events Kind = "events" // JSON objects of 16 fields, about 450 bytes
	Random Kind = "random" // 1024 bytes without structure
)

// Kinds are all kinds, in the order in which partitions take them.
var Kinds = []Kind{Logs, Events, Random}

var (
	levels   = []string{"INFO", "INFO", "INFO", "INFO", "INFO", "DEBUG", "DEBUG", "WARN", "ERROR"}
	services = []string{"checkout", "inventory", "payments", "search", "shipping", "session-gateway", "pricing", "mailer"}
	messages = []string{
		"request completed", "cache miss, loading from the primary store", "connection to upstream was reset, retrying with backoff",
		"user authenticated with a stored token", "slow query on index orders_by_customer", "queue depth is above the soft limit",
	}
	countries = []string{"DE", "FR", "JP", "US", "BR", "IN", "KE", "PL", "SE", "AU"}
	browsers  = []string{"firefox/143", "chrome/141", "safari/26", "edge/141", "curl/8.16"}
	pages     = []string{"/", "/cart", "/checkout", "/product", "/search", "/account/orders", "/help/returns"}
	epoch     = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

// generate makes records of one kind until they hold at least size bytes.
func generate(kind Kind, r *rand.Rand, size int64) (records [][]byte, err error) {
	var record func(i int) []byte
	switch kind {
	case Logs:
		record = func(i int) []byte { return logLine(r, i) }
	case Events:
		record = func(i int) []byte { return event(r, i) }
	case Random:
		record = func(int) []byte { return noise(r, 1024) }
	default:
		return nil, fmt.Errorf("workload: no kind of data is called %q", kind)
	}
	for i := 0; size > 0; i++ {
		b := record(i)
		records = append(records, b)
		size -= int64(len(b))
	}
	return records, nil
}

func pick(r *rand.Rand, of []string) string { return of[r.IntN(len(of))] }

func logLine(r *rand.Rand, i int) []byte {
	b := make([]byte, 0, 320)
	b = epoch.Add(time.Duration(i)*7*time.Millisecond).AppendFormat(b, "2006-01-02T15:04:05.000Z07:00")
	b = append(b, ' ')
	b = append(b, pick(r, levels)...)
	service := pick(r, services)
	b = fmt.Appendf(b, " [%s-%d] com.example.%s.RequestHandler - %s", service, r.IntN(12), service, pick(r, messages))
	b = fmt.Appendf(b, " method=GET path=/api/v2%s status=%d duration_ms=%d trace=%08x", pick(r, pages), 200+r.IntN(3)*100, r.IntN(900), r.Uint32())
	for range r.IntN(3) {
		b = fmt.Appendf(b, " retry.policy=exponential upstream=%s.svc.cluster.local:8443", pick(r, services))
	}
	return b
}

func event(r *rand.Rand, i int) []byte {
	b := make([]byte, 0, 512)
	b = fmt.Appendf(b, `{"event_id":"%016x%016x","user_id":%d,"session_id":"%016x","event_time":"`, r.Uint64(), r.Uint64(), r.IntN(1_000_000), r.Uint64())
	b = epoch.Add(time.Duration(i)*13*time.Millisecond).AppendFormat(b, time.RFC3339Nano)
	b = fmt.Appendf(b, `","event_type":"page_view","page":"%s","referrer":"https://www.example.org%s","country":"%s","browser":"%s"`,
		pick(r, pages), pick(r, pages), pick(r, countries), pick(r, browsers))
	b = fmt.Appendf(b, `,"ip":"10.%d.%d.%d","duration_ms":%d,"scroll_depth":%.4f`, r.IntN(256), r.IntN(256), r.IntN(256), r.IntN(60_000), r.Float64())
	b = fmt.Appendf(b, `,"price":%.2f,"latitude":%.6f,"items":%d,"is_logged_in":`, r.Float64()*500, r.Float64()*180-90, r.IntN(20))
	b = strconv.AppendBool(b, r.IntN(3) > 0)
	return append(b, '}')
}

func noise(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := 0; i < n; i += 8 {
		v := r.Uint64()
		for j := range min(8, n-i) {
			b[i+j] = byte(v >> (8 * j))
		}
	}
	return b
}
