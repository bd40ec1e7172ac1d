#!/usr/bin/env bash
# Installs (tools.sh install; servers and promtool for what only tests and lint need) or checks (tools.sh check) what building, testing and the demo need beside Go, gcc, make, a JDK 17
# or later, Maven and Python 3: Gradle by the system's package manager, Python packages in a virtual environment in the cache.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cache=${TIDEMARK_CACHE:-$HOME/.cache/tidemark}
venv=$cache/venv

need() { # command, what to install
  command -v "$1" >/dev/null 2>&1 || missing+=("$1 ($2)")
}

prerequisites() {
  missing=()
  need go "Go 1.26 or later"
  need gcc "a C compiler"
  need java "a JDK 17 or later"
  need javac "a JDK 17 or later"
  need mvn "Apache Maven"
  need python3 "Python 3"
  if [ ${#missing[@]} -gt 0 ]; then
    echo "tools: missing: ${missing[*]}. Install them and try again." >&2
    exit 1
  fi
}

gradle_install() {
  command -v gradle >/dev/null 2>&1 && return
  if ! command -v apt-get >/dev/null 2>&1; then
    echo "tools: gradle is missing; install Gradle 4.4 or later and try again." >&2
    exit 1
  fi
  if [ "$(id -u)" -ne 0 ]; then
    echo "tools: gradle is missing; run: sudo apt-get install -y gradle" >&2
    exit 1
  fi
  echo "tools: installing gradle with apt-get" >&2
  apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq gradle >/dev/null
}

venv_install() {
  mkdir -p "$cache"
  local want
  want=$(sha256sum "$here/requirements.txt" | cut -d' ' -f1)
  if [ "$(cat "$venv/.complete" 2>/dev/null)" = "$want" ]; then
    touch "$venv/.complete"
    return
  fi
  echo "tools: installing the Python packages of integration/requirements.txt into $venv" >&2
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
  echo "$want" >"$venv/.complete"
}

# promtool checks the alert rules.
promtool_install() {
  command -v promtool >/dev/null 2>&1 && return
  if ! command -v apt-get >/dev/null 2>&1 || [ "$(id -u)" -ne 0 ]; then
    echo "tools: promtool is missing: sudo apt-get install -y --no-install-recommends prometheus" >&2
    return 1
  fi
  echo "tools: installing promtool with apt-get" >&2
  apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends prometheus >/dev/null
}

# The second S3 server of the tests is built from its published source, once.
versitygw=v1.8.0
servers_install() {
  local bin=$cache/bin/versitygw-$versitygw
  [ -x "$bin" ] && return
  echo "tools: building versitygw $versitygw, the second S3 server of the tests (some minutes, once)" >&2
  local work
  work=$(mktemp -d "$cache/.versitygw.XXXXXX")
  GOBIN=$work CGO_ENABLED=0 go install "github.com/versity/versitygw/cmd/versitygw@$versitygw"
  mkdir -p "$cache/bin"
  mv "$work/versitygw" "$bin"
  rmdir "$work"
}

prerequisites
case ${1:-install} in
  install) gradle_install && venv_install ;;
  check) gradle_install ;;
  servers) servers_install ;;
  promtool) promtool_install ;;
  *) echo "usage: tools.sh install|check|servers|promtool" >&2 && exit 2 ;;
esac
