#!/usr/bin/env bash
# Runs the fuzz targets of every decoder that reads foreign bytes, at least SECONDS each.
# Rounds are bounded by a number of inputs and not by a time: at its deadline `go test -fuzz`
# reports a bare "context deadline exceeded" as a failure when a worker is in the middle of an
# input.
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
remotestorage/stored FuzzSidecarOpen
remotestorage/stored FuzzCustomMetadata
remotestorage/keyring FuzzParse
cgo/dispatch FuzzMessages
parquet/payload FuzzJSON
"
inputs=$((seconds * 2000))
passed=0
failed=0
while read -r package target; do
  [ -n "$package" ] || continue
  began=$SECONDS
  ran=0
  ok=yes
  while [ $((SECONDS - began)) -lt "$seconds" ]; do
    if ! out=$(CGO_ENABLED=0 go test -tags netgo,osusergo "./$package" -run '^$' -fuzz "^$target\$" \
      -fuzztime "${inputs}x" -fuzzminimizetime 10x 2>&1); then
      ok=no
      break
    fi
    ran=$((ran + inputs))
  done
  if [ $ok = yes ]; then
    passed=$((passed + 1))
    echo "fuzz $package $target: $ran inputs in $((SECONDS - began)) s"
  else
    failed=$((failed + 1))
    echo "fuzz $package $target FAILED:"
    echo "$out"
  fi
done <<<"$targets"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
