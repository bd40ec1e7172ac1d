package objectserver

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"tidemark/internal/objectstore"
)

// uploads begins uploads behind the store's back, as a crash would leave them, and lets the store find and abort them.
func uploads(t *testing.T, server *Server) {
	t.Run("uploads", func(t *testing.T) {
		st := store(t, server, "uploading", nil)
		client := awss3.New(awss3.Options{Region: Region, UsePathStyle: true, BaseEndpoint: aws.String(server.Endpoint),
			Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, "")})
		for _, key := range []string{"uploading/d/a", "uploading/d/a", "uploading/d/b", "uploading/e", "foreign/d/a"} {
			begin(t, client, server.Bucket, key)
		}
		if got, want := found(t, st), []string{"d/a", "d/a", "d/b"}; !slices.Equal(got, want) {
			t.Errorf("uploads of %q, want %q", got, want)
		}
		if some, more, err := st.ListUploads(t.Context(), "d/", 2); err != nil || len(some) != 2 || !more {
			t.Errorf("two of three: %+v, %v, %v", some, more, err)
		}
		page, _, err := st.ListUploads(t.Context(), "d/", 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range page {
			if u.Started.IsZero() {
				t.Errorf("%+v has no start", u)
			}
			for range 2 {
				if err := st.AbortUpload(t.Context(), u.Key, u.ID); err != nil {
					t.Errorf("abort %+v: %v", u, err)
				}
			}
		}
		if got := found(t, st); len(got) > 0 {
			t.Errorf("left after the aborts: %q", got)
		}
		rest, _, err := store(t, server, "foreign", nil).ListUploads(t.Context(), "", 100)
		if err != nil || len(rest) != 1 {
			t.Errorf("foreign uploads: %+v, %v", rest, err)
		}
	})
}

// begin starts an upload and sends a part of it.
func begin(t *testing.T, client *awss3.Client, bucket, key string) {
	t.Helper()
	ctx := context.Background()
	up, err := client.CreateMultipartUpload(ctx, &awss3.CreateMultipartUploadInput{Bucket: &bucket, Key: &key})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.UploadPart(ctx, &awss3.UploadPartInput{Bucket: &bucket, Key: &key, UploadId: up.UploadId, PartNumber: aws.Int32(1),
		Body: strings.NewReader("part")}); err != nil {
		t.Fatal(err)
	}
}

// found lists the keys of uploads below d/.
func found(t *testing.T, st objectstore.Uploads) (keys []string) {
	t.Helper()
	all, more, err := st.ListUploads(t.Context(), "d/", 100)
	if err != nil || more {
		t.Fatal(more, err)
	}
	for _, u := range all {
		keys = append(keys, u.Key)
	}
	slices.Sort(keys)
	return keys
}
