package assemble

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"tidemark/internal/telemetry"
)

// testedMinors are the minor versions of Kafka 4 that this release is tested with.
const testedFirst, testedLast = 0, 4

// kafkaVersion is what the broker says of itself, as numbers.
type kafkaVersion struct{ major, minor, patch int }

// parseKafka reads "4.3.1", "4.4.0-SNAPSHOT" or a vendor's "4.1.0-ccs"; ok is false if the text has no such form.
func parseKafka(text string) (v kafkaVersion, ok bool) {
	numbers, _, _ := strings.Cut(text, "-")
	parts := strings.SplitN(numbers, ".", 4)
	if len(parts) < 3 {
		return kafkaVersion{}, false
	}
	for i, to := range []*int{&v.major, &v.minor, &v.patch} {
		n, err := strconv.Atoi(parts[i])
		if err != nil || n < 0 {
			return kafkaVersion{}, false
		}
		*to = n
	}
	return v, true
}

// tested reports whether this release is tested with the version.
func (v kafkaVersion) tested() bool {
	return v.major == 4 && v.minor >= testedFirst && v.minor <= testedLast
}

// countsTwice reports whether the broker has KAFKA-20732, which is mended in 4.3.2 and 4.4.0.
func (v kafkaVersion) countsTwice() bool {
	return v.major < 4 || v.major == 4 && (v.minor < 3 || v.minor == 3 && v.patch < 2)
}

// checkKafka says once what an operator has to know of the broker's version: that nobody has tried it, or a fault of its own that costs
// data. Neither is a reason not to start.
func checkKafka(text string, set *telemetry.Set, log *slog.Logger) {
	gauge := set.Gauge("kafka_version_tested", fmt.Sprintf("1 when this release is tested with the broker's minor version of Kafka (4.%d to 4.%d), else 0.", testedFirst, testedLast))
	v, ok := parseKafka(text)
	if !ok || !v.tested() {
		log.Warn("kafka.untested", "kafka", text, "tested", fmt.Sprintf("4.%d to 4.%d", testedFirst, testedLast),
			"effect", "it may work; nobody has tried it")
		return
	}
	gauge.Set(1)
	if v.countsTwice() {
		log.Warn("kafka.fault", "kafka", text, "fault", "KAFKA-20732",
			"effect", "after a leader change retention.bytes counts bytes twice that are both local and remote, and Kafka deletes data too early",
			"do", "limit tiered topics by retention.ms, or upgrade to Kafka 4.3.2 or 4.4")
	}
}
