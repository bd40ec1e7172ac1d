#!/usr/bin/env bash
# Fetches the published test jars of Apache Kafka and what runs them into a cache.
#
#   integration/kafkatests/fetch-tests.sh VERSION      prints the folder that holds lib/ (the class path, Kafka included)
#
# 4.0.2 and 4.3.1 are known to be complete. Kafka 4.4.0 publishes no test jars: only JUnit is fetched for it, for the
# conformance suite. The folder appears in one rename, so a folder that exists is complete.
set -euo pipefail

version=${1:?usage: fetch-tests.sh VERSION}
case $version in
  4.0.*) log4j=2.24.3 ;;
  4.3.*) log4j=2.25.4 ;;
  4.4.*) log4j=2.25.5 ;;
  *)
    echo "fetch-tests: no test class path is known for Kafka $version (4.0.2, 4.3.1, 4.4.0)" >&2
    exit 2
    ;;
esac
cache=${TIDEMARK_CACHE:-$HOME/.cache/tidemark}
target=$cache/kafka-tests-$version
if [ -d "$target/lib" ]; then
  echo "$target"
  exit 0
fi
mkdir -p "$cache"
work=$(mktemp -d "$cache/.kafka-tests-$version.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/out"

dependency() { # group artifact version [classifier]
  local classifier=${4:+<classifier>$4</classifier>}
  echo "<dependency><groupId>$1</groupId><artifactId>$2</artifactId><version>$3</version>$classifier</dependency>"
}
kafka() { dependency org.apache.kafka "$1" "$version" "${2:-}"; }
{
  echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
  echo "<groupId>io.tidemark</groupId><artifactId>kafka-tests-$version</artifactId><version>1</version><packaging>pom</packaging><dependencies>"
  kafka kafka_2.13
  kafka kafka-tools
  if [[ $version != 4.4.* ]]; then
    for module in kafka-storage kafka-storage-api kafka-server-common kafka-server kafka-clients kafka_2.13 kafka-metadata kafka-raft \
      kafka-group-coordinator; do
      kafka $module test
    done
    kafka kafka-test-common-runtime
    kafka kafka-test-common-internal-api
    [[ $version = 4.0.* ]] || kafka kafka-test-common-util
  fi
  # All of JUnit by name: Kafka's own jars would bring another version of some.
  for module in junit-jupiter junit-jupiter-api junit-jupiter-params junit-jupiter-engine; do
    dependency org.junit.jupiter $module 5.14.4
  done
  for module in commons engine launcher console reporting; do
    dependency org.junit.platform junit-platform-$module 1.14.4
  done
  dependency org.mockito mockito-core 5.24.0
  dependency org.mockito mockito-junit-jupiter 5.24.0
  dependency org.hamcrest hamcrest 3.0
  dependency org.apache.logging.log4j log4j-slf4j-impl $log4j
  echo '</dependencies></project>'
} >"$work/pom.xml"
echo "fetch-tests: fetching the tests of Kafka $version from Maven Central" >&2
mvn -q -B -Dstyle.color=never -f "$work/pom.xml" dependency:copy-dependencies \
  -DoutputDirectory="$work/out/lib" -DincludeScope=runtime >&2

# Another run may have been first: its folder is as good as ours.
mv -T "$work/out" "$target" 2>/dev/null || [ -d "$target/lib" ]
echo "$target"
