package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestTheReferenceIsUpToDate(t *testing.T) {
	got, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := reference()
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/metrics.md is not what the source says; run: make generate")
	}
}

// Alert rules and the dashboard ask for metrics that exist.
func TestOperatorsAskForWhatThereIs(t *testing.T) {
	known, err := reference()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"alerts.yml", "alerts-test.yml", "dashboard.json"} {
		text, err := os.ReadFile("../../../docs/operations/" + file)
		if err != nil {
			t.Fatal(err)
		}
		names := regexp.MustCompile(`tidemark_[a-z_]+`).FindAllString(string(text), -1)
		if len(names) == 0 {
			t.Errorf("%s names no metric", file)
		}
		for _, name := range names {
			if !strings.Contains(known, "`"+name+"`") && !strings.Contains(known, "`"+strings.TrimSuffix(name, "_bucket")+"` | histogram") {
				t.Errorf("%s: there is no metric %s", file, name)
			}
		}
	}
}
