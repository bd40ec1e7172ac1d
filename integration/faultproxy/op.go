package faultproxy

import (
	"net/http"
	"strings"
)

// Op is an operation of S3.
type Op string

// The operations. A range GET is one that has a Range header.
const (
	PutObject       Op = "put"
	UploadPart      Op = "part"
	CreateMultipart Op = "create"
	Complete        Op = "complete"
	Abort           Op = "abort"
	GetObject       Op = "get"
	GetRange        Op = "range"
	Head            Op = "head"
	Delete          Op = "delete"
	DeleteBatch     Op = "delete-batch"
	List            Op = "list"
	ListUploads     Op = "list-uploads" // multipart uploads of a bucket and parts of one
	Other           Op = "other"
)

// operation tells what a request asks for, and the key it is about: "" for one of the whole bucket.
func operation(r *http.Request) (op Op, key string) {
	_, key, _ = strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	q := r.URL.Query()
	switch r.Method {
	case http.MethodPut:
		if q.Has("partNumber") {
			return UploadPart, key
		}
		return PutObject, key
	case http.MethodPost:
		switch {
		case q.Has("uploads"):
			return CreateMultipart, key
		case q.Has("uploadId"):
			return Complete, key
		case q.Has("delete"):
			return DeleteBatch, key
		}
	case http.MethodDelete:
		if q.Has("uploadId") {
			return Abort, key
		}
		return Delete, key
	case http.MethodHead:
		return Head, key
	case http.MethodGet:
		return reading(r, q.Has("uploads") || q.Has("uploadId"), key), key
	}
	return Other, key
}

func reading(r *http.Request, uploads bool, key string) Op {
	switch {
	case uploads:
		return ListUploads
	case key == "":
		return List
	case r.Header.Get("Range") != "":
		return GetRange
	default:
		return GetObject
	}
}
