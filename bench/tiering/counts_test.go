package tiering

import (
	"strings"
	"testing"
)

const scraped = `# HELP SeaweedFS_s3_request_total Counter of s3 requests.
SeaweedFS_s3_bucket_traffic_received_bytes_total{bucket="tidemark"} 3.09297768e+08
SeaweedFS_s3_bucket_traffic_sent_bytes_total{bucket="tidemark"} 100
SeaweedFS_s3_in_flight_requests{type="LIST"} 7
SeaweedFS_s3_request_total{bucket="",code="403",type="LIST"} 1
SeaweedFS_s3_request_total{bucket="tidemark",code="200",type="PUT"} 64
SeaweedFS_s3_request_total{bucket="tidemark",code="200",type="POST"} 2
SeaweedFS_s3_request_total{bucket="tidemark",code="204",type="DELETE"} 3
SeaweedFS_s3_request_total{bucket="tidemark",code="206",type="GET"} 114
SeaweedFS_s3_request_total{bucket="tidemark",code="404",type="HEAD"} 2
`

func TestCountsOfTheServer(t *testing.T) {
	got, err := parseCounts(strings.NewReader(scraped))
	if err != nil {
		t.Fatal(err)
	}
	if want := (counts{puts: 66, gets: 116, lists: 1, deletes: 3, received: 309297768, sent: 100}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if d := got.minus(counts{puts: 60, sent: 40}); d.puts != 6 || d.sent != 60 || d.gets != 116 {
		t.Errorf("difference %+v", d)
	}
	if _, err := parseCounts(strings.NewReader(`SeaweedFS_s3_request_total{type="GET"} many`)); err == nil {
		t.Error("a count that is no number was taken")
	}
}
