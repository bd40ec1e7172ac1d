#!/usr/bin/env bash
# Runs the fuzz targets of every decoder that reads foreign bytes, SECONDS each.
#   integration/fuzz.sh SECONDS        ends with "N passed, N failed"
set -uo pipefail
cd "$(dirname "$0")/.."
seconds=${1:?usage: fuzz.sh SECONDS}

targets="
internal/kafkalog FuzzWalk
internal/kafkalog FuzzRecords
internal/kafkalog FuzzIndexes
remotestorage/stored FuzzManifest
remotestorage/stored FuzzSidecar
remotestorage/stored FuzzCustomMetadata
cgo/dispatch FuzzMessages
parquet/payload FuzzJSON
"
passed=0
failed=0
while read -r package target; do
  [ -n "$package" ] || continue
  if out=$(CGO_ENABLED=0 go test -tags netgo,osusergo "./$package" -run '^$' -fuzz "^$target\$" -fuzztime "${seconds}s" -fuzzminimizetime 10x 2>&1); then
    passed=$((passed + 1))
    echo "fuzz $package $target: $(echo "$out" | sed -nE 's/.*execs: ([0-9]+) .*/\1/p' | tail -1) inputs"
  else
    failed=$((failed + 1))
    echo "fuzz $package $target FAILED:"
    echo "$out"
  fi
done <<<"$targets"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
