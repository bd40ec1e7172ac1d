#!/usr/bin/env bash
# Fetches a stock Apache Kafka into a cache: every jar a broker and its tools need, in one folder.
#
#   integration/fetch-kafka.sh VERSION      prints the folder that holds libs/
#
# The folder is ${TIDEMARK_CACHE:-$HOME/.cache/tidemark}/kafka-VERSION. It appears in one rename, so a folder
# that exists is complete and a second run does nothing.
set -euo pipefail

version=${1:?usage: fetch-kafka.sh VERSION}
case $version in
  4.0.*) log4j=2.24.3 ;;
  4.1.*) log4j=2.25.3 ;;
  4.2.* | 4.3.*) log4j=2.25.4 ;;
  4.4.*) log4j=2.25.5 ;;
  *)
    echo "fetch-kafka: Kafka $version is not one of the supported versions 4.0 to 4.4" >&2
    exit 2
    ;;
esac

cache=${TIDEMARK_CACHE:-$HOME/.cache/tidemark}
target=$cache/kafka-$version
if [ -d "$target/libs" ]; then
  echo "$target"
  exit 0
fi

mkdir -p "$cache"
work=$(mktemp -d "$cache/.kafka-$version.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/out"
cat >"$work/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>io.tidemark</groupId>
  <artifactId>kafka-$version</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>$version</version></dependency>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>$version</version></dependency>
    <dependency><groupId>org.apache.logging.log4j</groupId><artifactId>log4j-slf4j-impl</artifactId><version>$log4j</version></dependency>
  </dependencies>
</project>
POM
echo "fetch-kafka: fetching Kafka $version from Maven Central" >&2
mvn -q -B -Dstyle.color=never -f "$work/pom.xml" dependency:copy-dependencies \
  -DoutputDirectory="$work/out/libs" -DincludeScope=runtime >&2

# Another run may have been first: its folder is as good as ours.
mv -T "$work/out" "$target" 2>/dev/null || [ -d "$target/libs" ]
echo "$target"
