package builtin

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
)

func request(t *testing.T, h http.Handler, method, path string) (int, http.Header, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, w.Header(), string(body)
}

func served(t *testing.T) (*Catalog, *storetest.Faults, http.Handler) {
	t.Helper()
	faulty := storetest.Faulty(storetest.NewMemory())
	c, err := Open(faulty, Config{Mode: Swap, Reading: map[string]string{"s3.endpoint": "http://127.0.0.1:9000"}}, open(t, faulty, Swap).log)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"a", "b", "c"} {
		create(t, c, testSpec(byte(i+1), name))
	}
	other := testSpec(9, "z")
	other.Namespace = "sales"
	create(t, c, other)
	return c, faulty, c.Handler()
}

func TestRESTAnswersInTheWordsOfTheReference(t *testing.T) {
	c, _, h := served(t)
	if err := c.Drop(testContext(t), topicID(3)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		method, path string
		code         int
		body         string
	}{
		{"GET", "/v1/namespaces", 200, `{"namespaces":[["kafka"],["sales"]],"next-page-token":null}`},
		{"GET", "/v1/namespaces?parent=kafka", 200, `{"namespaces":[],"next-page-token":null}`},
		{"GET", "/v1/namespaces?parent=x", 404, `{"error":{"code":404,"message":"Namespace does not exist: x","type":"NoSuchNamespaceException"}}`},
		{"GET", "/v1/namespaces/kafka", 200, `{"namespace":["kafka"],"properties":{}}`},
		{"GET", "/v1/namespaces/a%1Fb", 404, `{"error":{"code":404,"message":"Namespace does not exist: a.b","type":"NoSuchNamespaceException"}}`},
		{"HEAD", "/v1/namespaces/kafka", 204, ""},
		{"HEAD", "/v1/namespaces/none", 404, "-"},
		{"GET", "/v1/namespaces/sales/tables", 200, `{"identifiers":[{"namespace":["sales"],"name":"z"},{"namespace":["sales"],"name":"z__quarantine"}],"next-page-token":null}`},
		{"GET", "/v1/namespaces/none/tables", 404, `{"error":{"code":404,"message":"Namespace does not exist: none","type":"NoSuchNamespaceException"}}`},
		{"HEAD", "/v1/namespaces/kafka/tables/a", 204, ""},
		{"HEAD", "/v1/namespaces/kafka/tables/A__Quarantine", 204, ""},
		{"HEAD", "/v1/namespaces/kafka/tables/none", 404, "-"},
		{"GET", "/v1/namespaces/kafka/tables/none", 404, `{"error":{"code":404,"message":"Table does not exist: kafka.none","type":"NoSuchTableException"}}`},
		{"GET", "/v1/namespaces/kafka/tables/c", 404, `{"error":{"code":404,"message":"Table does not exist: kafka.c","type":"NoSuchTableException"}}`},
		{"GET", "/v1/namespaces/kafka/tables/x%0Ay", 404, `{"error":{"code":404,"message":"Table does not exist: kafka.x\\ny","type":"NoSuchTableException"}}`},
		{"GET", "/v1/namespaces/none/tables/a", 404, `{"error":{"code":404,"message":"Table does not exist: none.a","type":"NoSuchTableException"}}`},
		{"GET", "/v1/nothing", 404, `{"error":{"code":404,"message":"No route for request: GET /v1/nothing","type":"NotFoundException"}}`},
		{"PUT", "/v1/namespaces/kafka", 405, `{"error":{"code":405,"message":"Method not allowed: PUT","type":"UnsupportedOperationException"}}`},
		{"POST", "/v1/namespaces/kafka/tables/a", 501, `{"error":{"code":501,"message":"This catalog can be read only: POST is not supported","type":"UnsupportedOperationException"}}`},
		{"DELETE", "/v1/namespaces/kafka/tables/a", 501, `{"error":{"code":501,"message":"This catalog can be read only: DELETE is not supported","type":"UnsupportedOperationException"}}`},
		{"GET", "/v1/namespaces?pageToken=&pageSize=0", 400, `{"error":{"code":400,"message":"Invalid pageSize: 0","type":"BadRequestException"}}`},
		{"GET", "/v1/namespaces?pageToken=%21", 400, `{"error":{"code":400,"message":"Invalid pageToken: !","type":"BadRequestException"}}`},
	} {
		code, _, body := request(t, h, test.method, test.path)
		if code != test.code || test.body != "-" && body != test.body {
			t.Errorf("%s %s: %d %s, want %d %s", test.method, test.path, code, body, test.code, test.body)
		}
	}
}

func TestRESTLoadGivesTheStoredDocument(t *testing.T) {
	c, _, h := served(t)
	code, header, body := request(t, h, "GET", "/v1/namespaces/kafka/tables/A")
	var got struct {
		Location string            `json:"metadata-location"`
		Metadata json.RawMessage   `json:"metadata"`
		Config   map[string]string `json:"config"`
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || code != 200 || header.Get("Content-Type") != "application/json" {
		t.Fatalf("%d %v: %v", code, header, err)
	}
	meta := load(t, c, topicID(1)).Tables["main"].Metadata()
	if got.Location != meta.File() || string(got.Metadata) != string(meta.Bytes()) || got.Config["s3.endpoint"] != "http://127.0.0.1:9000" {
		t.Errorf("%s, %d bytes of metadata, config %v", got.Location, len(got.Metadata), got.Config)
	}
	var config struct{ Endpoints []string }
	_, _, body = request(t, h, "GET", "/v1/config?warehouse=x")
	if err := json.Unmarshal([]byte(body), &config); err != nil || len(config.Endpoints) != len(readRoutes)-1 {
		t.Errorf("config %s, %v", body, err)
	}
}

func TestRESTPages(t *testing.T) {
	_, _, h := served(t)
	var names []string
	for path := "/v1/namespaces/kafka/tables?pageSize=4&pageToken="; ; {
		_, _, body := request(t, h, "GET", path)
		var page struct {
			Identifiers []struct{ Name string }
			Next        *string `json:"next-page-token"`
		}
		if err := json.Unmarshal([]byte(body), &page); err != nil || len(page.Identifiers) > 4 {
			t.Fatalf("%s: %v", body, err)
		}
		for _, id := range page.Identifiers {
			names = append(names, id.Name)
		}
		if page.Next == nil {
			break
		}
		path = "/v1/namespaces/kafka/tables?pageSize=4&pageToken=" + *page.Next
	}
	if got := strings.Join(names, " "); got != "a a__quarantine b b__quarantine c c__quarantine" {
		t.Errorf("paged through %s", got)
	}
}

func TestRESTSaysWhenTheStoreFails(t *testing.T) {
	_, faulty, h := served(t)
	faulty.Add(storetest.Fault{Times: -1, Effect: storetest.Fail, Class: status.Transient})
	if code, header, body := request(t, h, "GET", "/v1/namespaces/kafka/tables/a"); code != 503 || header.Get("Retry-After") == "" || !strings.Contains(body, "ServiceUnavailableException") {
		t.Errorf("%d %s", code, body)
	}
	faulty.Heal()
	faulty.Add(storetest.Fault{Op: storetest.Get, Key: "metadata", Times: -1, Effect: storetest.Short})
	if code, _, body := request(t, h, "GET", "/v1/namespaces/kafka/tables/a"); code != 500 || !strings.Contains(body, "metadata.json") {
		t.Errorf("%d %s", code, body)
	}
}
