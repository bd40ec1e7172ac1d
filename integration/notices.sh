#!/usr/bin/env bash
# Writes the licences of everything that is linked into the library and the command line tool, for the jar.
#   integration/notices.sh FILE
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:?usage: notices.sh FILE}
mkdir -p "$(dirname "$out")"
{
  echo "Tidemark contains software of others, each under its own licence."
  echo
  CGO_ENABLED=0 go list -tags netgo,osusergo -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cgo/assemble ./cmd/tidemark |
    sort -u | while read -r path version dir; do
    echo "================================================================================"
    echo "$path $version"
    find "$dir" -maxdepth 1 -iregex '.*/\(licen[cs]e\|copying\|notice\)[^/]*' -type f | sort | while read -r f; do
      echo "--------------------------------------------------------------------------------"
      cat "$f"
    done
  done
  echo "================================================================================"
  echo "com.google.flatbuffers:flatbuffers-java 25.2.10 (in the package io.tidemark.kafka.flatbuffers)"
  echo "Copyright Google Inc. Apache License 2.0: see LICENSE."
  echo "================================================================================"
  echo "The Go runtime and standard library"
  cat "$(go env GOROOT)/LICENSE" 2>/dev/null || true
} >"$out"
