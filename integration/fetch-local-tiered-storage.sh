#!/usr/bin/env bash
# Fetches Kafka's LocalTieredStorage, a plugin that copies files and is made for tests, into a cache: a folder with one jar.
#
#   integration/fetch-local-tiered-storage.sh VERSION      prints the folder
#
# Up to Kafka 4.3 it lies in the test jar of kafka-storage, from 4.4 on in the test-fixtures jar.
set -euo pipefail

version=${1:?usage: fetch-local-tiered-storage.sh VERSION}
classifier=test
case $version in
  4.[0-3].*) ;;
  *) classifier=test-fixtures ;;
esac

cache=${TIDEMARK_CACHE:-$HOME/.cache/tidemark}
target=$cache/local-tiered-storage-$version
if [ -d "$target" ]; then
  echo "$target"
  exit 0
fi
mkdir -p "$cache"
work=$(mktemp -d "$cache/.local-tiered-storage.XXXXXX")
trap 'rm -rf "$work"' EXIT
cat >"$work/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>io.tidemark</groupId>
  <artifactId>local-tiered-storage</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka-storage</artifactId><version>$version</version><classifier>$classifier</classifier>
      <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>
    </dependency>
  </dependencies>
</project>
POM
mvn -q -B -Dstyle.color=never -f "$work/pom.xml" dependency:copy-dependencies -DoutputDirectory="$work/out" >&2
mv -T "$work/out" "$target" 2>/dev/null || [ -d "$target" ]
echo "$target"
