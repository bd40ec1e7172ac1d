package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"tidemark/cgo/assemble"
	"tidemark/cmd/tidemark/doctor"
	"tidemark/internal/kafkaclient"
)

// metadataTopic is where Kafka's metadata manager keeps what is tiered.
const metadataTopic = "__remote_log_metadata"

func doctorCommand() command {
	return command{name: "doctor", summary: "find misconfigurations of a cluster with tiered storage", run: diagnose,
		long: "Asks the brokers for their settings, the tiered topics and their partitions, and looks for what is known to go wrong: brokers without the\n" +
			"plugin, settings that stop tiering silently, a metadata topic that can lose data, topics that pay for nothing. With --config it also\n" +
			"checks a broker's server.properties, which has what brokers hide. Nothing is changed. Exit code 3 if an ERROR or WARN is found."}
}

// diagnosis is what doctor prints.
type diagnosis struct {
	Brokers  int              `json:"brokers"`
	Topics   int              `json:"tieredTopics"`
	Findings []doctor.Finding `json:"findings"`
}

func diagnose(ctx context.Context, e *env, args []string) error {
	if len(args) > 0 {
		return usageError("doctor takes no operands")
	}
	ctx, cancel := e.context(ctx)
	defer cancel()
	facts, err := e.facts(ctx)
	if err != nil {
		return err
	}
	d := diagnosis{Brokers: len(facts.Brokers), Topics: len(facts.Topics), Findings: doctor.Examine(facts)}
	if d.Findings == nil {
		d.Findings = []doctor.Finding{}
	}
	if err := e.print(d, d.write); err != nil {
		return err
	}
	for _, f := range d.Findings {
		if f.Severity != doctor.Notice {
			return errFound
		}
	}
	return nil
}

func (d diagnosis) write(w io.Writer) {
	for _, f := range d.Findings {
		fmt.Fprintf(w, "%-5s %s: %s\n      why: %s\n      do:  %s\n", f.Severity, f.Where, f.What, f.Why, f.Do)
	}
	fmt.Fprintf(w, "%d brokers, %d tiered topics looked at; %d findings\n", d.Brokers, d.Topics, len(d.Findings))
}

// facts asks the cluster, and reads --config if it is given.
func (e *env) facts(ctx context.Context) (f doctor.Facts, err error) {
	if e.config != "" {
		if f.Properties, err = readAllProperties(e.config); err != nil {
			return f, err
		}
		f.Faults = faultsOf(f.Properties)
	}
	c, err := e.client()
	if err != nil {
		return f, err
	}
	brokers, err := c.Brokers(ctx)
	if err != nil {
		return f, err
	}
	for _, b := range brokers {
		f.Brokers = append(f.Brokers, doctor.Broker{ID: b.ID, Host: b.Host, Config: b.Config})
	}
	all, err := c.TopicStates(ctx)
	if err != nil {
		return f, err
	}
	var tiered []kafkaclient.TopicState
	for _, t := range all {
		if t.Config["remote.storage.enable"] == "true" {
			tiered = append(tiered, t)
		}
		if t.Name == metadataTopic {
			about := topicOf(t)
			f.MetadataTopic = &about
		}
	}
	if err := c.FillPartitions(ctx, tiered); err != nil {
		return f, err
	}
	for _, t := range tiered {
		f.Topics = append(f.Topics, topicOf(t))
	}
	return f, nil
}

func topicOf(t kafkaclient.TopicState) doctor.Topic {
	out := doctor.Topic{Name: t.Name, Replicas: t.Replicas, Config: t.Config}
	for _, p := range t.Partitions {
		out.Partitions = append(out.Partitions, doctor.Partition(p))
	}
	return out
}

// faultsOf are the faults the plugin would refuse a configuration with, one each.
func faultsOf(properties map[string]string) []string {
	own := map[string]string{}
	for key, value := range properties {
		if name, ok := strings.CutPrefix(key, assemble.Prefix); ok {
			own[name] = value
		}
	}
	_, err := assemble.Parse(own)
	if err == nil {
		return nil
	}
	var faults []string
	for i, line := range strings.Split(err.Error(), "\n") {
		if i > 0 { // the first counts them
			faults = append(faults, strings.TrimSpace(line))
		}
	}
	return faults
}
