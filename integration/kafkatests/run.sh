#!/usr/bin/env bash
# Runs Apache Kafka's own tests of tiered storage on Tidemark, and our conformance suite of the plugin contract.
#
#   integration/kafkatests/run.sh VERSION JAR [CLASS-NAME-PART]
#
# Every class runs in a JVM of its own with a time limit. BASELINE=1 runs the tiered tests a second time on Kafka's own
# LocalTieredStorage, to tell what fails there too. Ends with a line per class and "N passed, N failed, N skipped"; the logs of
# classes that fail stay in build/kafka-tests-VERSION.
set -uo pipefail
cd "$(dirname "$0")/../.."
version=${1:?usage: run.sh VERSION JAR [PART]}
jar=$(realpath "${2:?usage: run.sh VERSION JAR [PART]}")
part=${3:-}
here=integration/kafkatests
lib=$($here/fetch-tests.sh "$version")/lib || exit 1
out=build/kafka-tests-$version
rm -rf "$out"
mkdir -p "$out/classes" "$out/work"
cp "$jar" "$out/tidemark.jar" # a build meanwhile must not change it under a running test
jar=$PWD/$out/tidemark.jar
limit=${CLASS_SECONDS:-1200}

sources=$(find $here/conformance -name '*.java')
suites=$(find $here/conformance -name '*ConformanceTest.java' | sed -e "s,$here/conformance/,," -e 's,/,.,g' -e 's/\.java$//')
tests=
if [ -f "$lib/kafka-storage-$version-test.jar" ]; then
  sources="$sources $(find $here/shadow -name '*.java')"
  tests=$(unzip -Z1 "$lib/kafka-storage-$version-test.jar" 'org/apache/kafka/tiered/storage/integration/*Test.class' \
    'org/apache/kafka/server/log/remote/metadata/storage/TopicBased*Test.class' \
    'org/apache/kafka/server/log/remote/metadata/storage/RemoteLogSegmentLifecycleTest.class' |
    grep -v -e '\$' -e '/Base' -e ManagerConfigTest | sed -e 's,/,.,g' -e 's/\.class$//')
else
  echo "Kafka $version publishes no test jar: the conformance suite only"
fi
# shellcheck disable=SC2086
javac -nowarn --release 17 -proc:none -cp "$jar:$lib/*" -d "$out/classes" $sources || exit 1
cat >"$out/classes/log4j2.properties" <<'LOG'
status = off
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{HH:mm:ss.SSS} %p %m (%c:%L)%n
rootLogger.level = warn
rootLogger.appenderRef.out.ref = out
logger.tidemark.name = io.tidemark
logger.tidemark.level = info
LOG

passed=0
failed=0
skipped=0
# run CLASS NAME CLASS-PATH-BEFORE: counts go to the totals unless the name begins with "baseline".
run() {
  local class=$1 name=$2 before=$3 log=$PWD/$out/$2.log work=$PWD/$out/work/$2 began=$SECONDS
  # The metadata manager's tests find their cluster by JUnit's service files; Kafka 4.0's tests of tiered storage make their own, and
  # fail if that extension is there.
  local services=true
  case $class in org.apache.kafka.tiered.*) services=false ;; esac
  mkdir -p "$work"
  # Some tests write where they are started.
  (cd "$work" && exec timeout -k 10 "$limit" java -Xmx2g -ea "-Djava.io.tmpdir=$work" "-Dtidemark.tests.dir=$work" -cp "$before$lib/*" \
    org.junit.platform.console.ConsoleLauncher execute --disable-banner --details=tree \
    --config junit.jupiter.extensions.autodetection.enabled=$services \
    --select-class "$class" >"$log" 2>&1)
  local rc=$?
  local p f s
  p=$(sed -nE 's/^\[ +([0-9]+) tests successful.*/\1/p' "$log" | tail -1)
  f=$(sed -nE 's/^\[ +([0-9]+) tests failed.*/\1/p' "$log" | tail -1)
  s=$(sed -nE 's/^\[ +([0-9]+) tests (skipped|aborted).*/\1/p' "$log" | awk '{n+=$1} END {print n+0}')
  if [ -z "$p" ] || [ $((p + f + s)) -eq 0 ]; then # it did not get as far as a summary, or nothing ran
    p=0 f=1
    [ $rc -eq 124 ] && echo "$name: not done after $limit s" | tee -a "$log"
  fi
  printf '%-70s %3d passed %3d failed %3d skipped  %4d s\n' "$name" "$p" "$f" "$s" $((SECONDS - began))
  if [[ $name != baseline* ]]; then
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  fi
  rm -rf "$work"
  if [ "$f" -eq 0 ]; then rm -f "$log"; fi
}

for class in $suites $tests; do
  [[ $class == *$part* ]] || continue
  run "$class" "${class##*.}" "$PWD/$out/classes:$jar:"
  if [ -n "${BASELINE:-}" ] && [[ $class == *.tiered.* ]]; then
    run "$class" "baseline-${class##*.}" ""
  fi
done
echo "Kafka $version: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
