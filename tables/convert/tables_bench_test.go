package convert

import (
	"fmt"
	"io"
	"testing"

	"tidemark/catalog"
	"tidemark/internal/kafkalog"
	"tidemark/internal/kafkalog/logtest"
	"tidemark/parquet/payload"
)

const benchSchema = `{"type":"object","properties":{
	"year":{"type":"integer","format":"int32"},"month":{"type":"integer","format":"int32"},"day":{"type":"integer","format":"int32"},
	"dep_time":{"type":["null","integer"],"format":"int32"},"sched_dep_time":{"type":"integer","format":"int32"},"dep_delay":{"type":["null","integer"]},
	"arr_time":{"type":["null","integer"],"format":"int32"},"sched_arr_time":{"type":"integer","format":"int32"},"arr_delay":{"type":["null","integer"]},
	"carrier":{"type":"string"},"flight":{"type":"integer"},"tailnum":{"type":["null","string"]},"origin":{"type":"string"},"dest":{"type":"string"},
	"air_time":{"type":["null","number"]},"distance":{"type":"number"},"hour":{"type":"integer"},"minute":{"type":"integer"},
	"time_hour":{"type":"string","format":"date-time"}}}`

type discard struct{}

func (discard) Create(int, catalog.Role) (io.Writer, error) { return io.Discard, nil }

// BenchmarkRun converts records like those of the flights data set; bytes are those of the uncompressed log.
func BenchmarkRun(b *testing.B) {
	for name, decoder := range map[string]func() payload.Decoder{"raw": rawDecoder, "json": jsonDecoder(b, benchSchema)} {
		for _, codec := range []kafkalog.Codec{kafkalog.None, kafkalog.Zstd} {
			b.Run(fmt.Sprintf("%s/%s", name, codec), func(b *testing.B) { benchmark(b, decoder, codec) })
		}
	}
}

func benchmark(b *testing.B, decoder func() payload.Decoder, codec kafkalog.Codec) {
	s, plain, n := logtest.NewSegment(0), 0, int64(0)
	for range 200 {
		batch := logtest.Batch{Base: n, Codec: codec}
		for range 250 {
			value := fmt.Appendf(nil, `{"year":2013,"month":%d,"day":%d,"dep_time":%d,"sched_dep_time":%d,"dep_delay":%d,"arr_time":%d,"sched_arr_time":819,"arr_delay":%d,"carrier":"%s","flight":%d,"tailnum":"N%d","origin":"EWR","dest":"IAH","air_time":%d,"distance":1400,"hour":5,"minute":15,"time_hour":"2013-01-01T05:00:00Z"}`,
				n%12+1, n%28+1, 500+n%1400, 515+n%1400, n%60-10, 830+n%1000, n%90-20, []string{"UA", "AA", "B6", "DL"}[n%4], n%6000, 10000+n%4000, 100+n%300)
			batch.Records = append(batch.Records, kafkalog.Record{Offset: n, Timestamp: 1700000000000 + n, Key: fmt.Appendf(nil, "%d", n), Value: value})
			plain += len(value)
			n++
		}
		s.Add(batch)
	}
	c, in := converter(b, definition(decoder)), input(s)
	b.SetBytes(int64(plain))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Run(b.Context(), in, discard{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
