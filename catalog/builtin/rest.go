package builtin

import (
	"context"
	"encoding/json"
	"net/http"
	"sort"
	"strings"
	"time"

	"tidemark/catalog/iceberg"
	"tidemark/internal/status"
)

// requestTime bounds the work for one request.
const requestTime = 60 * time.Second

// readRoutes are the operations of the Iceberg REST catalog specification that this catalog serves.
var readRoutes = []struct {
	pattern string
	serve   func(c *Catalog, ctx context.Context, r *http.Request) (any, error)
}{
	{"GET /v1/config", (*Catalog).restConfig},
	{"GET /v1/namespaces", (*Catalog).restNamespaces},
	{"GET /v1/namespaces/{namespace}", (*Catalog).restNamespace},
	{"HEAD /v1/namespaces/{namespace}", (*Catalog).restNamespace},
	{"GET /v1/namespaces/{namespace}/tables", (*Catalog).restTables},
	{"GET /v1/namespaces/{namespace}/tables/{table}", (*Catalog).restTable},
	{"HEAD /v1/namespaces/{namespace}/tables/{table}", (*Catalog).restTableExists},
}

// endpoints is how GET /v1/config announces readRoutes; a client does not try what is not in it.
var endpoints = []string{
	"GET /v1/{prefix}/namespaces",
	"GET /v1/{prefix}/namespaces/{namespace}",
	"HEAD /v1/{prefix}/namespaces/{namespace}",
	"GET /v1/{prefix}/namespaces/{namespace}/tables",
	"GET /v1/{prefix}/namespaces/{namespace}/tables/{table}",
	"HEAD /v1/{prefix}/namespaces/{namespace}/tables/{table}",
}

// writeRoutes exist in the specification and change something; this catalog answers them with 501.
var writeRoutes = []string{
	"POST /v1/namespaces", "DELETE /v1/namespaces/{namespace}", "POST /v1/namespaces/{namespace}/properties",
	"POST /v1/namespaces/{namespace}/tables", "POST /v1/namespaces/{namespace}/tables/{table}",
	"DELETE /v1/namespaces/{namespace}/tables/{table}", "POST /v1/namespaces/{namespace}/tables/{table}/metrics",
	"POST /v1/namespaces/{namespace}/register", "POST /v1/tables/rename", "POST /v1/transactions/commit",
	"POST /v1/oauth/tokens",
}

// Handler is the reading side of the Iceberg REST catalog protocol, to be mounted below any path. It keeps no state: any
// number of processes answer the same.
func (c *Catalog) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, route := range readRoutes {
		mux.HandleFunc(route.pattern, func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), requestTime)
			defer cancel()
			body, err := route.serve(c, ctx, r)
			if err != nil {
				c.restFailed(w, r, err)
				return
			}
			if r.Method == http.MethodHead {
				w.WriteHeader(http.StatusNoContent)
				return
			}
			writeJSON(w, http.StatusOK, body)
		})
	}
	for _, pattern := range writeRoutes {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			writeError(w, http.StatusNotImplemented, "UnsupportedOperationException", "This catalog can be read only: "+r.Method+" is not supported")
		})
	}
	return plainErrors(mux)
}

// plainErrors gives the mux's own answers (unknown route, wrong method) the error body of the specification.
func plainErrors(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		probe := &headerOnly{header: http.Header{}}
		mux.ServeHTTP(probe, r)
		if allow := probe.header.Get("Allow"); allow != "" {
			w.Header().Set("Allow", allow)
			writeError(w, http.StatusMethodNotAllowed, "UnsupportedOperationException", "Method not allowed: "+r.Method)
			return
		}
		writeError(w, http.StatusNotFound, "NotFoundException", "No route for request: "+r.Method+" "+printable(r.URL.Path))
	})
}

// headerOnly is a response that keeps its header.
type headerOnly struct{ header http.Header }

func (h *headerOnly) Header() http.Header         { return h.header }
func (h *headerOnly) Write(p []byte) (int, error) { return len(p), nil }
func (h *headerOnly) WriteHeader(int)             {}

func (c *Catalog) restConfig(context.Context, *http.Request) (any, error) {
	return map[string]any{"defaults": map[string]string{}, "overrides": map[string]string{}, "endpoints": endpoints}, nil
}

func (c *Catalog) restNamespaces(ctx context.Context, r *http.Request) (any, error) {
	groups, err := c.Groups(ctx)
	if err != nil {
		return nil, err
	}
	var all []string
	if parent := r.URL.Query().Get("parent"); parent != "" {
		// Namespaces have one level: a parent has no children, but must exist.
		if _, err := namespaceOf(groups, parent); err != nil {
			return nil, err
		}
	} else {
		seen := map[string]bool{}
		for _, g := range groups {
			if !seen[strings.ToLower(g.Namespace)] {
				seen[strings.ToLower(g.Namespace)] = true
				all = append(all, g.Namespace)
			}
		}
	}
	sort.Strings(all)
	page, next, err := paginate(all, r)
	if err != nil {
		return nil, err
	}
	names := make([][]string, len(page))
	for i, name := range page {
		names[i] = []string{name}
	}
	return map[string]any{"namespaces": names, "next-page-token": next}, nil
}

// namespaceOf finds a namespace by the name a client sent.
func namespaceOf(groups []GroupInfo, sent string) (string, error) {
	for _, g := range groups {
		if strings.EqualFold(g.Namespace, sent) {
			return g.Namespace, nil
		}
	}
	return "", noSuchNamespace(sent)
}

func (c *Catalog) restNamespace(ctx context.Context, r *http.Request) (any, error) {
	groups, err := c.Groups(ctx)
	if err != nil {
		return nil, err
	}
	name, err := namespaceOf(groups, r.PathValue("namespace"))
	if err != nil {
		return nil, err
	}
	return map[string]any{"namespace": []string{name}, "properties": map[string]string{}}, nil
}

func (c *Catalog) restTables(ctx context.Context, r *http.Request) (any, error) {
	groups, err := c.Groups(ctx)
	if err != nil {
		return nil, err
	}
	namespace, err := namespaceOf(groups, r.PathValue("namespace"))
	if err != nil {
		return nil, err
	}
	var all []string
	for _, g := range groups {
		if strings.EqualFold(g.Namespace, namespace) {
			for _, name := range g.Tables {
				all = append(all, name)
			}
		}
	}
	sort.Strings(all)
	page, next, err := paginate(all, r)
	if err != nil {
		return nil, err
	}
	type identifier struct {
		Namespace []string `json:"namespace"`
		Name      string   `json:"name"`
	}
	out := make([]identifier, len(page))
	for i, name := range page {
		out[i] = identifier{[]string{namespace}, name}
	}
	return map[string]any{"identifiers": out, "next-page-token": next}, nil
}

// loadResult is LoadTableResult of the specification.
type loadResult struct {
	Location string            `json:"metadata-location"`
	Metadata json.RawMessage   `json:"metadata"`
	Config   map[string]string `json:"config"`
}

func (c *Catalog) restTable(ctx context.Context, r *http.Request) (any, error) {
	ref, err := c.find(ctx, r.PathValue("namespace"), r.PathValue("table"))
	if err != nil {
		return nil, err
	}
	meta, err := iceberg.Load(ctx, c.store, ref.Metadata)
	if status.Is(err, status.NotFound) { // the pointer names it, so it must be there
		err = status.Errorf(status.Corrupt, "metadata file of table %s: %w", ref.Name, err)
	}
	if err != nil {
		return nil, err
	}
	config := c.reading
	if config == nil {
		config = map[string]string{}
	}
	return loadResult{meta.File(), meta.Bytes(), config}, nil
}

func (c *Catalog) restTableExists(ctx context.Context, r *http.Request) (any, error) {
	return c.find(ctx, r.PathValue("namespace"), r.PathValue("table"))
}

// find resolves a table name as a client sent it.
func (c *Catalog) find(ctx context.Context, namespace, table string) (tableRef, error) {
	missing := noSuchTable(namespace, table)
	if !plainName.MatchString(namespace) || !plainName.MatchString(table) || len(namespace) > maxName || len(table) > maxName+len(quarantineSuffix) {
		return tableRef{}, missing
	}
	name := table
	if cut := len(table) - len(quarantineSuffix); cut > 0 && strings.EqualFold(table[cut:], quarantineSuffix) {
		name = table[:cut]
	}
	h, err := c.names.holder(ctx, namespace, name)
	if err != nil {
		return tableRef{}, err
	}
	if h.number == 0 {
		return tableRef{}, missing
	}
	s, _, err := c.live(ctx, h)
	if status.Is(err, status.NotFound) {
		return tableRef{}, missing
	}
	if err != nil {
		return tableRef{}, err
	}
	for _, ref := range s.Tables {
		if strings.EqualFold(ref.Name, table) {
			return ref, nil
		}
	}
	return tableRef{}, missing
}
