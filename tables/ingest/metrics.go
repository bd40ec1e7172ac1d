package ingest

import (
	"tidemark/internal/status"
	"tidemark/internal/telemetry"
)

type metrics struct {
	ranges      telemetry.Counter
	rows        telemetry.Counter
	quarantined telemetry.Counter
	aborted     telemetry.Counter
	bytesIn     telemetry.Counter
	bytesOut    telemetry.Counter
	seconds     telemetry.Histogram
	inFlight    telemetry.Gauge
	errors      map[string]telemetry.Counter
	lag         *telemetry.GaugeVec
	waiting     *telemetry.GaugeVec
}

func newMetrics(set *telemetry.Set) metrics {
	classes := make([]string, 0, len(status.Classes()))
	for _, c := range status.Classes() {
		classes = append(classes, c.String())
	}
	return metrics{
		ranges:      set.Counter("table_ranges_total", "Offset ranges converted and offered to the catalog."),
		rows:        set.Counter("table_rows_total", "Rows written to main tables."),
		quarantined: set.Counter("table_quarantined_total", "Records written to quarantine tables."),
		aborted:     set.Counter("table_aborted_records_total", "Records of aborted transactions, which are not rows."),
		bytesIn:     set.Counter("table_segment_bytes_total", "Bytes of log segments converted."),
		bytesOut:    set.Counter("table_file_bytes_total", "Bytes of table files uploaded."),
		seconds:     set.Histogram("table_convert_seconds", "Time to convert and upload one range.", telemetry.Seconds),
		inFlight:    set.Gauge("table_conversions_in_flight", "Ranges being converted now."),
		errors:      set.Counters("table_convert_errors_total", "Conversions that failed and are tried again, by class.", "class", classes...),
		lag:         set.GaugeVec("table_lag_offsets", "Tiered offsets the table does not cover yet.", "topic", "partition"),
		waiting:     set.GaugeVec("table_waiting_bytes", "Bytes of tiered segments the table does not cover yet.", "topic", "partition"),
	}
}
