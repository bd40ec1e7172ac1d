package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tidemark/catalog"
	"tidemark/internal/kafkaclient"
	"tidemark/internal/status"
)

// Findings about the topic, beside those of catalog.Verify.
const (
	findingBeyondLog catalog.FindingKind = "beyond-log" // covered, but the log does not reach so far
	findingCount     catalog.FindingKind = "count"      // a range has more or fewer rows than the log has records
	findingNoRows    catalog.FindingKind = "no-rows"    // the log has records where the table has no file
)

// compareTopic compares the number of visible records with the rows of every covered range that the log still holds whole.
func (e *env) compareTopic(ctx context.Context, claim catalog.Claim, l catalog.Ledger, footers []catalog.FileFooter, r *report) error {
	client, err := e.client()
	if err != nil {
		return err
	}
	info, err := client.DescribeTopic(ctx, claim.Topic)
	if err != nil {
		return status.Wrapf(err, "compare with the topic (leave --bootstrap-server out to check the table alone)")
	}
	if info.ID != claim.TopicID {
		return status.Errorf(status.Conflict, "topic %s has the id %s now, the table is of an earlier topic of that name with id %s; leave --bootstrap-server out to check the table alone",
			claim.Topic, catalog.TopicID(info.ID), claim.TopicID)
	}
	r.Compared = true
	for _, p := range l.Numbers() {
		progress := l.Progress(p)
		logStart, _, lastStable, err := client.Offsets(ctx, claim.Topic, p)
		if err != nil {
			return err
		}
		if progress.Next > lastStable {
			r.add(catalog.Finding{Kind: findingBeyondLog, Range: catalog.Range{Partition: p, Base: lastStable, End: progress.Next},
				Text: fmt.Sprintf("the ledger covers offsets above the log's last stable offset %d: the log was truncated or restored, or the table is another cluster's", lastStable)})
			continue
		}
		c := newCounter(p, max(logStart, progress.Start), progress.Next, footers)
		if c.from >= c.to {
			continue
		}
		e.progress("reading partition %d of %s, offsets [%d, %d)", p, claim.Topic, c.from, c.to)
		if err := e.read(ctx, client, claim.Topic, c); err != nil {
			return err
		}
		r.Records += c.records
		for _, f := range c.findings() {
			r.add(f)
		}
	}
	return nil
}

// read counts the records of a partition. It gives up when none comes for as long as --timeout says.
func (e *env) read(ctx context.Context, client *kafkaclient.Client, topic string, c *counter) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stalled := time.AfterFunc(e.timeout, cancel)
	defer stalled.Stop()
	err := client.ReadAll(ctx, topic, c.partition, c.from, c.to, func(rec *kafkaclient.Record) error {
		if c.records%1000 == 0 {
			stalled.Reset(e.timeout)
		}
		c.count(rec.Offset)
		return nil
	})
	if err != nil && !stalled.Stop() {
		return status.Errorf(status.Transient, "read %s-%d: no record came for %s (--timeout)", topic, c.partition, e.timeout)
	}
	return err
}

// counter counts the records of one partition by the ranges of its table's files.
type counter struct {
	partition int32
	from, to  int64
	ranges    []counted // by offset
	at        int       // the range of the last record, or the first after it
	records   int64

	outside          int64 // records in no range
	firstOut, endOut int64
}

type counted struct {
	catalog.FileFooter
	records int64
}

func newCounter(partition int32, from, to int64, footers []catalog.FileFooter) *counter {
	c := &counter{partition: partition, from: from, to: to}
	for _, f := range footers {
		if f.Range.Partition == partition && f.Range.End > from {
			c.ranges = append(c.ranges, counted{FileFooter: f})
		}
	}
	slices.SortStableFunc(c.ranges, func(a, b counted) int { return int(min(max(a.Range.Base-b.Range.Base, -1), 1)) })
	c.ranges = slices.CompactFunc(c.ranges, func(a, b counted) bool { return a.Range.Base == b.Range.Base && a.Range.End == b.Range.End })
	return c
}

// count takes the offset of the next record.
func (c *counter) count(offset int64) {
	c.records++
	for c.at < len(c.ranges) && c.ranges[c.at].Range.End <= offset {
		c.at++
	}
	if c.at < len(c.ranges) && c.ranges[c.at].Range.Base <= offset {
		c.ranges[c.at].records++
		return
	}
	if c.outside == 0 {
		c.firstOut = offset
	}
	c.outside, c.endOut = c.outside+1, offset+1
}

// findings are the ranges whose counts differ. Ranges that the log has lost in part are left out.
func (c *counter) findings() (findings []catalog.Finding) {
	for _, r := range c.ranges {
		if want := r.Counts.Rows + r.Counts.Quarantined; r.Range.Base >= c.from && want != r.records {
			findings = append(findings, catalog.Finding{Kind: findingCount, Range: r.Range, Files: []string{r.URI},
				Text: fmt.Sprintf("the log has %d visible records, the files of the range say %d rows and %d quarantined", r.records, r.Counts.Rows, r.Counts.Quarantined)})
		}
	}
	if c.outside > 0 {
		findings = append(findings, catalog.Finding{Kind: findingNoRows, Range: catalog.Range{Partition: c.partition, Base: c.firstOut, End: c.endOut},
			Text: fmt.Sprintf("the log has %d visible records among these offsets that no file of the table covers", c.outside)})
	}
	return findings
}
