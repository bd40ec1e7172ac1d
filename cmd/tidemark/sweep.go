package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"tidemark/catalog"
	"tidemark/internal/kafkaclient"
	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/key"
	"tidemark/internal/status"
	"tidemark/remotestorage/reclaim/sweep"
	"tidemark/remotestorage/stored"
)

func sweepCommand() command {
	return command{name: "sweep", args: "", summary: "report stored segments and unfinished uploads that Kafka knows nothing of", run: sweepReport,
		flags: func(f *flag.FlagSet, e *env) {
			f.DurationVar(&e.grace, "grace", 24*time.Hour, "leave out what is `younger`")
		},
		long: "Reads __remote_log_metadata to its end and lists the prefix of --config. It changes nothing: brokers remove what they find themselves,\n" +
			"with rsm.config.sweep.dry.run=false, because they know what is being copied and what a table needs right then.\n" +
			"It refuses to judge if the metadata topic is empty and the store is not, or lost its beginning, or is of another cluster than the store."}
}

// swept is one line of the report.
type swept struct {
	Reason   sweep.Reason `json:"reason"`
	Action   string       `json:"action"` // what a broker would do: remove, give-up, abort, keep
	Keys     []string     `json:"keys"`
	Upload   string       `json:"upload,omitempty"`
	Bytes    int64        `json:"bytes"`
	Modified time.Time    `json:"modified"`
}

// sweepOutcome is the report.
type sweepOutcome struct {
	Segments     int                  `json:"segments"`
	Objects      int                  `json:"objects"`
	Orphans      int                  `json:"orphans"`
	Bytes        int64                `json:"bytes"`
	Uploads      int                  `json:"oldUploads"`
	UploadsError string               `json:"uploadsError,omitempty"` // why oldUploads is not all
	Reasons      map[sweep.Reason]int `json:"reasons"`
	Clusters     []string             `json:"otherClusters"`
	Found        []swept              `json:"found"`
}

var actions = map[sweep.Action]string{sweep.Keep: "keep", sweep.Remove: "remove", sweep.GiveUp: "give-up"}

func sweepReport(ctx context.Context, e *env, args []string) error {
	if len(args) > 0 {
		return usageError("sweep takes no arguments")
	}
	if err := e.open(ctx); err != nil {
		return err
	}
	client, err := e.client()
	if err != nil {
		return err
	}
	e.progress("reading %s", metadataTopic)
	reading, cancel := e.context(ctx)
	meta, err := readMetadata(reading, client)
	cancel()
	if err != nil {
		return err
	}
	cluster, err := e.sameCluster(ctx, client, meta)
	if err != nil {
		return err
	}
	e.progress("listing the store")
	return e.sweep(ctx, client, meta, cluster)
}

// sameCluster refuses a store that is not of this cluster, as far as that can be told.
func (e *env) sameCluster(ctx context.Context, client *kafkaclient.Client, meta *metadata) (string, error) {
	ctx, cancel := e.context(ctx)
	defer cancel()
	id, err := client.ClusterID(ctx)
	if err != nil {
		return "", err
	}
	marks, _, err := e.store.List(ctx, key.Clusters+"/", "", 100)
	if err != nil {
		return "", err
	}
	own := false
	for _, m := range marks {
		own = own || m.Key == key.Cluster(id)
	}
	if len(marks) > 0 && !own {
		return "", status.Errorf(status.Conflict, "the store has the mark of another cluster (%s) and none of cluster %s: is --bootstrap-server or --config of another cluster?", marks[0].Key, id)
	}
	some, _, err := e.store.List(ctx, key.Segments+"/", "", 1)
	if err == nil && len(some) > 0 && len(meta.of) == 0 {
		err = status.Errorf(status.Conflict, "%s is empty and the store has segments: another cluster, or the metadata is lost", metadataTopic)
	}
	return id, err
}

func (e *env) sweep(ctx context.Context, client *kafkaclient.Client, meta *metadata, cluster string) error {
	truth := &topicTruth{metadata: meta, client: client, timeout: e.timeout, there: map[[16]byte]bool{}}
	out := sweepOutcome{Found: []swept{}}
	uploads, _ := objectstore.UploadsOf(e.store)
	s := sweep.New(sweep.Config{DryRun: true, Grace: e.grace, Most: 1 << 20, Rate: 1}, sweep.Deps{
		Log: e.log(), Store: e.store, Uploads: uploads, Truth: truth, Cluster: func() string { return cluster }, Now: time.Now, End: e.sidecarEnd, Held: e.heldByTable(ctx),
		Found: func(f sweep.Finding) {
			line := swept{Reason: f.Verdict.Reason, Action: actions[f.Verdict.Action], Keys: f.Keys, Upload: f.Upload, Bytes: f.Bytes, Modified: f.Modified}
			if f.Upload != "" {
				line.Action = "abort"
			}
			out.Found = append(out.Found, line)
		},
	})
	r, err := s.Run(ctx)
	if missing := s.Missing(); err == nil && len(missing) > 0 { // brokers wait for the grace time; a report need not
		for id := range missing {
			missing[id] = time.Time{}
		}
		s.Remember(missing)
		out.Found = []swept{}
		r, err = s.Run(ctx)
	}
	if err == nil && r.Failed > 0 {
		err = status.Errorf(status.Transient, "%d partitions or topics could not be judged, the first: %s", r.Failed, r.FirstError)
	}
	if err != nil {
		return err
	}
	out.Segments, out.Objects, out.Orphans, out.Bytes, out.Uploads, out.Reasons, out.Clusters = r.Segments, r.Objects, r.Orphans, r.Bytes, r.OldUploads, r.Reasons, r.Foreign
	if r.UploadsError != nil {
		out.UploadsError = r.UploadsError.Error()
	}
	err = e.print(out, func(w io.Writer) {
		for _, f := range out.Found {
			fmt.Fprintf(w, "%-8s %-16s %10d bytes  %s  %s %s\n", f.Action, f.Reason, f.Bytes, f.Modified.UTC().Format(time.RFC3339), strings.Join(f.Keys, " "), f.Upload)
		}
		fmt.Fprintf(w, "%d segments, %d objects looked at; %d orphaned segments of %d bytes, %d unfinished uploads of nobody\n", out.Segments, out.Objects, out.Orphans, out.Bytes, out.Uploads)
	})
	return cmp.Or(err, status.Wrapf(r.UploadsError, "the report is whole but for unfinished uploads"))
}

// sidecarEnd is the offset after a segment's last.
func (e *env) sidecarEnd(ctx context.Context, id stored.Identity) (int64, error) {
	_, name := id.Keys()
	raw, _, err := e.store.Get(ctx, name, stored.MaxSidecarSize)
	if err != nil {
		return 0, err
	}
	s, err := stored.DecodeSidecar(raw)
	if err != nil {
		return 0, status.Wrapf(err, "sidecar %s", name)
	}
	return s.Manifest.EndOffset + 1, nil
}

// heldByTable says what the tables of the catalog have not got; a table that cannot be read holds.
func (e *env) heldByTable(ctx context.Context) func(topicID [16]byte, partition int32, base, end int64) bool {
	return func(topicID [16]byte, partition int32, _, end int64) bool {
		_, reading, err := e.load(ctx, catalog.TopicID(topicID))
		if status.Is(err, status.NotFound) {
			return false
		}
		return err != nil || !reading.Usable() || end > reading.Ledger.Progress(partition).Next
	}
}

// topicTruth is what the metadata topic said, of all partitions of the topics that the cluster has.
type topicTruth struct {
	*metadata
	client  *kafkaclient.Client
	timeout time.Duration
	there   map[[16]byte]bool // topics, as far as they were asked for
}

func (t *topicTruth) Knows(topicID [16]byte, _ int32) bool {
	exists, err := t.TopicExists(context.Background(), topicID)
	return exists && err == nil
}

func (t *topicTruth) States(_ context.Context, topicID [16]byte, partition int32, ids [][16]byte) (sweep.Answer, error) {
	a := sweep.Answer{End: t.known[partitionKey{topicID, partition}]}
	for _, id := range ids {
		a.States = append(a.States, t.states[id])
	}
	return a, nil
}

func (t *topicTruth) GiveUp(context.Context, [16]byte, int32, [][16]byte) (int, error) {
	return 0, status.Errorf(status.Unsupported, "a report gives nothing up")
}

func (t *topicTruth) Responsible(context.Context) (bool, error) { return true, nil }

func (t *topicTruth) TopicExists(ctx context.Context, topicID [16]byte) (bool, error) {
	if known, asked := t.there[topicID]; asked {
		return known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	_, err := t.client.TopicByID(ctx, topicID)
	if err != nil && !status.Is(err, status.NotFound) {
		return false, err
	}
	t.there[topicID] = err == nil
	return err == nil, nil
}
