package builtin

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"sort"
	"strconv"
	"strings"

	"tidemark/internal/status"
)

// restError is an answer with an error of the specification. Texts and types are those of the reference implementation.
type restError struct {
	code    int
	kind    string
	message string
}

func (e *restError) Error() string { return e.message }

// namespaceSeparator stands between the levels of a namespace in a path.
const namespaceSeparator = "\x1f"

func noSuchNamespace(sent string) error {
	return &restError{http.StatusNotFound, "NoSuchNamespaceException", "Namespace does not exist: " + dotted(sent)}
}

func noSuchTable(namespace, table string) error {
	return &restError{http.StatusNotFound, "NoSuchTableException", "Table does not exist: " + dotted(namespace) + "." + printable(table)}
}

func badRequest(message string) error {
	return &restError{http.StatusBadRequest, "BadRequestException", message}
}

func dotted(namespace string) string {
	return printable(strings.ReplaceAll(namespace, namespaceSeparator, "."))
}

// printable escapes control characters of what a client sent.
func printable(s string) string {
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}

// restFailed answers a failed request.
func (c *Catalog) restFailed(w http.ResponseWriter, r *http.Request, err error) {
	var e *restError
	if errors.As(err, &e) {
		writeError(w, e.code, e.kind, e.message)
		return
	}
	c.log.Warn("catalog.request_failed", "method", r.Method, "path", printable(r.URL.Path), "class", status.Of(err).String(), "error", err.Error())
	switch status.Of(err) {
	case status.Transient, status.Throttled, status.Unknown, status.Cancelled, status.Closed:
		w.Header().Set("Retry-After", "1")
		writeError(w, http.StatusServiceUnavailable, "ServiceUnavailableException", err.Error())
	default:
		writeError(w, http.StatusInternalServerError, "RuntimeException", err.Error())
	}
}

func writeError(w http.ResponseWriter, code int, kind, message string) {
	writeJSON(w, code, map[string]any{"error": map[string]any{"message": message, "type": kind, "code": code}})
}

func writeJSON(w http.ResponseWriter, code int, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		code, data = http.StatusInternalServerError, []byte(`{"error":{"message":"the answer cannot be encoded","type":"RuntimeException","code":500}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(code)
	_, _ = w.Write(data) // a client that has gone is no news
}

// maxPage is the longest page of a listing that a client asked to be paged.
const maxPage = 1000

// paginate cuts one page out of a sorted listing. A client that sends no pageToken does not page and gets everything. The
// token is the last name of the page before, so names that come and go in between are neither lost nor repeated.
func paginate(all []string, r *http.Request) (page []string, next *string, err error) {
	query := r.URL.Query()
	size := maxPage
	if query.Has("pageSize") {
		size, err = strconv.Atoi(query.Get("pageSize"))
		if err != nil || size < 1 {
			return nil, nil, badRequest("Invalid pageSize: " + printable(query.Get("pageSize")))
		}
		size = min(size, maxPage)
	}
	if !query.Has("pageToken") {
		return all, nil, nil
	}
	last, err := base64.RawURLEncoding.DecodeString(query.Get("pageToken"))
	if err != nil {
		return nil, nil, badRequest("Invalid pageToken: " + printable(query.Get("pageToken")))
	}
	from := 0
	if len(last) > 0 {
		from = sort.SearchStrings(all, string(last)+"\x00")
	}
	page = all[from:]
	if len(page) > size {
		page = page[:size]
		token := base64.RawURLEncoding.EncodeToString([]byte(page[size-1]))
		next = &token
	}
	return page, next, nil
}
