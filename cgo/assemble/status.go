package assemble

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"time"

	"tidemark/catalog"
	"tidemark/catalog/coordinator"
	"tidemark/internal/status"
	"tidemark/tables"
)

// tablesPath is where the HTTP listener tells how tables are.
const tablesPath = "/tables"

// Bounds of asking a broker for its tables.
const (
	tablesTime  = 5 * time.Second
	tablesBytes = 64 << 20
)

// TableStatus is one table as one broker sees it.
type TableStatus struct {
	Definition tables.Definition `json:"definition"`
	TableState
}

// TableState is the state of a table on a broker.
type TableState struct {
	State      string           `json:"state"` // of the constants of package tables
	Reason     string           `json:"reason,omitempty"`
	Partitions []PartitionState `json:"partitions"` // those this broker leads or still converts
}

// PartitionState is how far a partition is.
type PartitionState struct {
	Partition       int32  `json:"partition"`
	Next            int64  `json:"next"` // first offset the table does not cover
	WaitingSegments int    `json:"waitingSegments"`
	WaitingBytes    int64  `json:"waitingBytes"`
	Reason          string `json:"reason,omitempty"`     // why what waits is not converted or committed
	DivergedAt      *int64 `json:"divergedAt,omitempty"` // frozen: this offset is not on the log's leader-epoch chain
}

// tableStatus joins what tables and the commit side know.
func tableStatus(list []tables.Status, state func(catalog.TopicID) coordinator.State) []TableStatus {
	out := make([]TableStatus, 0, len(list))
	for _, t := range list {
		s := TableStatus{Definition: t.Definition, TableState: TableState{State: t.State, Reason: t.Reason, Partitions: []PartitionState{}}}
		id, _ := catalog.ParseTopicID(t.Definition.TopicID) // a definition that was taken has one
		diverged := state(id).Diverged
		for _, p := range t.Partitions {
			ps := PartitionState{Partition: p.Partition.Partition, Next: p.Next, WaitingSegments: p.Waiting, WaitingBytes: p.Bytes, Reason: p.Reason}
			if at, is := diverged[ps.Partition]; is {
				ps.DivergedAt = &at
			}
			s.Partitions = append(s.Partitions, ps)
		}
		out = append(out, s)
	}
	return out
}

// tablesHandler serves the status of all tables.
func tablesHandler(list func() []TableStatus) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "" && r.URL.Path != "/":
			http.NotFound(w, r)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "this can be read only", http.StatusMethodNotAllowed)
		default:
			w.Header().Set("Content-Type", "application/json")
			enc := json.NewEncoder(w)
			enc.SetIndent("", "  ")
			_ = enc.Encode(map[string]any{"tables": list()}) // a reader that went away
		}
	})
}

// BrokerTables asks the broker with a configuration how its tables are, over its HTTP listener. known is false if it has none.
// Errors: Invalid (the configuration), Transient (no answer), Corrupt.
func BrokerTables(ctx context.Context, properties map[string]string) (list []TableStatus, known bool, err error) {
	c, err := Parse(properties)
	if err != nil || c.HTTP.Listener == "" {
		return nil, false, err
	}
	host, port, err := net.SplitHostPort(c.HTTP.Listener)
	if err != nil {
		return nil, false, status.Errorf(status.Invalid, "http.listener: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, tablesTime)
	defer cancel()
	url := "http://" + net.JoinHostPort(host, port) + tablesPath
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, false, status.Errorf(status.Invalid, "%s: %w", url, err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return nil, false, status.Errorf(status.Transient, "the broker's HTTP listener does not answer: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, false, status.Errorf(status.Transient, "%s answers %s", url, resp.Status)
	}
	var body struct {
		Tables []TableStatus `json:"tables"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, tablesBytes)).Decode(&body); err != nil {
		return nil, false, status.Errorf(status.Corrupt, "%s: %w", url, err)
	}
	return body.Tables, true, nil
}
