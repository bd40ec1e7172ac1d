package main

import (
	"os"
	"testing"
)

func TestTheReferenceIsUpToDate(t *testing.T) {
	got, err := os.ReadFile("../../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != text() {
		t.Error("docs/config.md is not what the source says; run: make generate")
	}
}
