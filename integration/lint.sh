#!/usr/bin/env bash
# The linters: formatting, vet, staticcheck, architecture rules, alert rules.
set -euo pipefail
cd "$(dirname "$0")/.."

tags="-tags=netgo,osusergo"
cache=${TIDEMARK_CACHE:-$HOME/.cache/tidemark}
mkdir -p "$cache/bin"

unformatted=$(git ls-files '*.go' | xargs gofmt -l)
if [ -n "$unformatted" ]; then
  echo "lint: not formatted by gofmt:" && echo "$unformatted" && exit 1
fi
packages=$(CGO_ENABLED=0 go list "$tags" ./...)
CGO_ENABLED=0 go vet "$tags" $packages

# The library's own package builds only with cgo and a JDK's headers.
java_home=${JAVA_HOME:-$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")}
CGO_ENABLED=1 CGO_CFLAGS="-I$java_home/include -I$java_home/include/linux" go vet "$tags" ./cgo

staticcheck=$cache/bin/staticcheck-0.8.2
if [ ! -x "$staticcheck" ]; then
  echo "lint: installing staticcheck v0.8.2"
  work=$(mktemp -d)
  GOBIN=$work go install honnef.co/go/tools/cmd/staticcheck@v0.8.2
  mv "$work/staticcheck" "$staticcheck"
  rmdir "$work"
fi
CGO_ENABLED=0 "$staticcheck" "$tags" $packages
CGO_ENABLED=0 go test "$tags" -count=1 ./internal/archtest
integration/tools.sh promtool
promtool check rules docs/operations/alerts.yml >/dev/null
(cd docs/operations && promtool test rules alerts-test.yml >/dev/null)
bash -n integration/*.sh integration/kafkatests/*.sh cgo/build.sh internal/wire/generate.sh .ci/run
echo "lint: clean"
