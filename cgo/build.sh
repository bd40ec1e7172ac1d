#!/bin/sh
# Builds the native library.
# Usage: cgo/build.sh OUT          OUT is the library file, for example build/native/libtidemark.so
# Environment: CC (C compiler), JAVA_HOME (else the JDK of javac on PATH), TIDEMARK_TAGS (further build tags).
set -eu

if [ $# -ne 1 ]; then
  echo "usage: cgo/build.sh OUT" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
mkdir -p "$(dirname "$1")"
out=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")

if [ ! -f "${JAVA_HOME:-}/include/jni.h" ]; then
  javac=$(command -v javac) || { echo "build: no javac on PATH and no JDK in JAVA_HOME: install a JDK 17 or later" >&2; exit 1; }
  JAVA_HOME=$(dirname "$(dirname "$(readlink -f "$javac")")")
fi
if [ ! -f "$JAVA_HOME/include/jni.h" ]; then
  echo "build: $JAVA_HOME/include/jni.h is missing: install the JDK with its headers" >&2
  exit 1
fi

version=$(tr -d '[:space:]' <"$root/VERSION")
cd "$root"
# -w drops DWARF but keeps symbols for profilers. Hidden visibility would hide the exports: the version script does it.
CGO_ENABLED=1 \
CGO_CFLAGS="-O2 -Wall -Wextra -Wno-unused-parameter -I$JAVA_HOME/include -I$JAVA_HOME/include/linux" \
  go build -buildmode=c-shared -trimpath -tags "netgo,osusergo${TIDEMARK_TAGS:+,$TIDEMARK_TAGS}" \
  -buildvcs=false -ldflags "-w -buildid= -linkmode external -X main.version=$version -extldflags '-Wl,--version-script=$here/exports.map'" \
  -o "$out" ./cgo
rm -f "${out%.so}.h" # cgo writes a header beside the library; tm.h is the one that is kept
