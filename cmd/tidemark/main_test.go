package main

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestHelp(t *testing.T) {
	for _, args := range [][]string{nil, {"help"}, {"--help"}, {"-h"}} {
		code, out, _ := tidemark(t, args...)
		if code != exitOK || !strings.Contains(out, "table create") || !strings.Contains(out, "Exit codes") {
			t.Errorf("%q: %d\n%s", args, code, out)
		}
	}
	for _, c := range commands() {
		for _, help := range []string{"--help", "-h"} {
			code, out, errs := tidemark(t, append(strings.Fields(c.name), help)...)
			if code != exitOK || errs != "" || !strings.Contains(out, c.summary) || !strings.Contains(out, "--json") || !strings.Contains(out, "--timeout") {
				t.Errorf("%s %s: %d\n%s%s", c.name, help, code, out, errs)
			}
		}
		if c.summary == "" || strings.HasSuffix(c.summary, ".") || c.long == "" {
			t.Errorf("%s: summary %q, long %q", c.name, c.summary, c.long)
		}
	}
	if code, out, _ := tidemark(t, "version"); code != exitOK || !strings.HasPrefix(out, "tidemark ") {
		t.Errorf("version: %d %s", code, out)
	}
}

func TestWrongCommandLines(t *testing.T) {
	for _, c := range []struct{ args, words string }{
		{"tabel list", `"tabel list" is not a command`},
		{"table", `"table" is not a command`},
		{"table creat --topic x", `"table creat" is not a command`},
		{"table list --jsno", "flag provided but not defined: -jsno"},
		{"table list extra", "nothing beside the flags"},
		{"table create", "--topic TOPIC is needed"},
		{"table create flights", "--topic TOPIC is needed"},
		{"table show", "give one TOPIC"},
		{"table drop a b", "give one TOPIC"},
		{"table pause --timeout soon x", "-timeout"},
		{"verify flights", "--config FILE is needed"},
		{"verify", "give one TOPIC"},
		{"dump segments", "--topic TOPIC is needed"},
		{"dump sidecar", "give one KEY"},
		{"dump metadata", "HEX or BASE64"},
		{"dump metadata ?!", "neither hexadecimal nor base64"},
		{"dump ledger", "give one TOPIC"},
		{"dump holds", "at least one log directory"},
		{"scrub", "--config FILE is needed"},
		{"scrub x", "takes no operands"},
		{"scrub --partition 1", "of --topic"},
		{"scrub --parallel 0", "--parallel 0 is not in"},
		{"scrub --rate -1", "not negative"},
	} {
		code, out, errs := tidemark(t, strings.Fields(c.args)...)
		if code != exitUsage || out != "" || !strings.Contains(errs, c.words) {
			t.Errorf("%s: %d\n%s%s", c.args, code, out, errs)
		}
	}
}

func TestTopicIDsThatBeginWithADash(t *testing.T) {
	const id = "-MevQcu2HBEh5gWOpBsdKA"
	f := flag.NewFlagSet("x", flag.ContinueOnError)
	(&env{}).flags(f)
	for _, c := range []struct{ args, ids, others []string }{
		{[]string{id}, []string{id}, nil},
		{[]string{id, "--json", "--config", "f"}, []string{id}, []string{"--json", "--config", "f"}},
		{[]string{"--json", id}, []string{id}, []string{"--json"}},
		{[]string{"--config", id}, nil, []string{"--config", id}},
		{[]string{"--config=f", id, "orders"}, []string{id}, []string{"--config=f", "orders"}},
	} {
		ids, others := topicIDs(f, c.args)
		if !slices.Equal(ids, c.ids) || !slices.Equal(others, c.others) {
			t.Errorf("%v: ids %v, others %v", c.args, ids, others)
		}
	}
}
