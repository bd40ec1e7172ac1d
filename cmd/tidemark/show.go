package main

import (
	"context"
	"fmt"
	"io"
	"sort"
	"text/tabwriter"

	"tidemark/catalog"
	"tidemark/catalog/builtin"
	"tidemark/cgo/assemble"
	"tidemark/internal/status"
	"tidemark/tables"
)

// shown is the output of table show.
type shown struct {
	tables.Definition
	Event      string           `json:"event,omitempty"`
	Detail     string           `json:"detail,omitempty"`
	Snapshot   int64            `json:"snapshot,omitempty"`
	Partitions []shownPartition `json:"partitions"`
	// Broker is what the broker with --config says of the table; nil if it was not asked or does not know it.
	Broker *assemble.TableState `json:"broker,omitempty"`
}

type shownPartition struct {
	Partition int32 `json:"partition"`
	Start     int64 `json:"start"`
	Next      int64 `json:"next"`
	LogStart  int64 `json:"logStart"`
	LogEnd    int64 `json:"lastStable"`
}

func tableShow(ctx context.Context, e *env, args []string) error {
	topic, err := oneTopic(args)
	if err != nil {
		return err
	}
	ctx, cancel := e.context(ctx)
	defer cancel()
	s := shown{Partitions: []shownPartition{}}
	if s.Definition, err = e.find(ctx, topic); err != nil {
		return err
	}
	if e.config != "" {
		if err := e.progressOf(ctx, &s); err != nil {
			return err
		}
		s.Broker = e.brokerStates(ctx)[s.TopicID]
	}
	return e.print(s, func(w io.Writer) {
		fmt.Fprintf(w, "table        %s.%s\ntopic        %s (id %s)\nformat       %s\npartitioned  %s\nstate        %s\n", s.Namespace, s.Table, s.Topic, s.TopicID, s.Format, s.PartitionBy, s.State)
		if e.config == "" {
			fmt.Fprintln(w, "\n--config server.properties shows what the table covers")
			return
		}
		if s.Event != "" {
			fmt.Fprintf(w, "catalog      %s %s\n", s.Event, s.Detail)
		}
		if b := s.Broker; b != nil {
			fmt.Fprintf(w, "broker       %s %s\n", b.State, b.Reason)
			for _, p := range b.Partitions {
				if why := reason(p); why != "" {
					fmt.Fprintf(w, "             partition %d: %s; %d segments with %d bytes wait\n", p.Partition, why, p.WaitingSegments, p.WaitingBytes)
				}
			}
		}
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(tw, "\npartition\tstart\tnext\tlog start\tlast stable\tnot in the table\t")
		for _, p := range s.Partitions {
			fmt.Fprintf(tw, "%d\t%d\t%d\t%d\t%d\t%d\t\n", p.Partition, p.Start, p.Next, p.LogStart, p.LogEnd, p.LogEnd-p.Next)
		}
		_ = tw.Flush()
	})
}

// reason says why a partition does not go on, "" if nothing keeps it.
func reason(p assemble.PartitionState) string {
	if p.DivergedAt != nil {
		return fmt.Sprintf("DIVERGED: offset %d is not on the log's leader-epoch chain", *p.DivergedAt)
	}
	return p.Reason
}

// brokerStates asks the broker with --config how its tables are, by topic id. A broker that does not answer is a note.
func (e *env) brokerStates(ctx context.Context) map[string]*assemble.TableState {
	states := map[string]*assemble.TableState{}
	if e.config == "" {
		return states
	}
	properties, err := readProperties(e.config)
	var list []assemble.TableStatus
	if err == nil {
		list, _, err = assemble.BrokerTables(ctx, properties)
	}
	if err != nil {
		fmt.Fprintf(e.errs, "the state on the broker is not known: %v\n", err)
	}
	for _, t := range list {
		states[t.Definition.TopicID] = &t.TableState
	}
	return states
}

// progressOf reads the ledger from the catalog and the log's ends from the broker.
func (e *env) progressOf(ctx context.Context, s *shown) error {
	if err := e.open(ctx); err != nil {
		return err
	}
	id, err := catalog.ParseTopicID(s.TopicID)
	if err != nil {
		return err
	}
	group, reading, err := e.load(ctx, id)
	if status.Is(err, status.NotFound) {
		s.Event, s.Detail = "NOT CREATED", "no broker has made the table yet"
		return nil
	}
	if err != nil {
		return err
	}
	s.Event, s.Detail, s.Snapshot = string(reading.Event), reading.Detail, head(group)
	info, err := e.kafka.DescribeTopic(ctx, s.Topic)
	if err != nil && !status.Is(err, status.NotFound) {
		return err
	}
	exists := err == nil && info.ID == id
	partitions := map[int32]bool{}
	for _, p := range reading.Ledger.Numbers() {
		partitions[p] = true
	}
	if exists {
		for p := range int32(info.Partitions) {
			partitions[p] = true
		}
	}
	for p := range partitions {
		progress := reading.Ledger.Progress(p)
		row := shownPartition{Partition: p, Start: progress.Start, Next: progress.Next, LogEnd: progress.Next}
		if exists {
			if row.LogStart, _, row.LogEnd, err = e.kafka.Offsets(ctx, s.Topic, p); err != nil {
				return err
			}
		}
		s.Partitions = append(s.Partitions, row)
	}
	sort.Slice(s.Partitions, func(i, j int) bool { return s.Partitions[i].Partition < s.Partitions[j].Partition })
	return nil
}

// maxNeeds bounds how often a reading may ask for more.
const maxNeeds = 8

// load loads a group and applies the read rule, with all that it asks for.
func (e *env) load(ctx context.Context, id catalog.TopicID) (*builtin.GroupView, catalog.Reading, error) {
	group, err := e.catalog.LoadGroup(ctx, id)
	if err != nil {
		return nil, catalog.Reading{}, err
	}
	for range maxNeeds {
		view, ok := group.View(catalog.Main)
		if !ok {
			return nil, catalog.Reading{}, status.Errorf(status.Corrupt, "%s.%s has no main table", group.Namespace, group.Name)
		}
		reading := catalog.Read(view, group.Claim)
		if (reading.Need == catalog.Need{}) {
			return group, reading, nil
		}
		if group, err = e.catalog.Supply(ctx, group, reading.Need); err != nil {
			return nil, catalog.Reading{}, err
		}
	}
	return nil, catalog.Reading{}, status.Errorf(status.Internal, "the ledger of topic id %s asks for more after %d answers", id, maxNeeds)
}

// loadTopic opens the store and the catalog and loads the table of a topic, by name or id.
func (e *env) loadTopic(ctx context.Context, topic string) (id catalog.TopicID, group *builtin.GroupView, reading catalog.Reading, err error) {
	if err = e.open(ctx); err == nil {
		id, err = e.topicID(ctx, topic)
	}
	if err == nil {
		group, reading, err = e.load(ctx, id)
	}
	return id, group, reading, err
}

// head is the id of the main table's current snapshot, -1 if it has none.
func head(group *builtin.GroupView) int64 {
	view, _ := group.View(catalog.Main)
	return view.Head
}
