package s3

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"tidemark/internal/objectstore"
	"tidemark/internal/status"
)

var _ objectstore.Uploads = (*Store)(nil)

// ListUploads pages through the unfinished uploads of this store with the marks that the server gives: versitygw refuses any
// other, and SeaweedFS does not sort by key.
func (s *Store) ListUploads(ctx context.Context, prefix string, max int) (uploads []objectstore.Upload, more bool, err error) {
	if err := objectstore.CheckList(prefix, max); err != nil {
		return nil, false, err
	}
	if err := ctx.Err(); err != nil {
		return nil, false, status.Wrapf(err, "list uploads of %q", prefix)
	}
	in := &s3.ListMultipartUploadsInput{Bucket: s.bucket(), Prefix: s.name(prefix), MaxUploads: aws.Int32(pageKeys)}
	for {
		out, err := s.client.ListMultipartUploads(ctx, in)
		if err != nil {
			return nil, false, s.failed(ctx, err, call{verb: "list uploads of", key: prefix})
		}
		for _, u := range out.Uploads {
			// The prefix is looked at again: a server that ignores it would have foreign uploads aborted.
			key, ok := strings.CutPrefix(aws.ToString(u.Key), s.prefix)
			if !ok || !strings.HasPrefix(key, prefix) || objectstore.CheckKey(key) != nil {
				continue
			}
			if len(uploads) == max {
				return uploads, true, nil
			}
			uploads = append(uploads, objectstore.Upload{Key: key, ID: aws.ToString(u.UploadId), Started: aws.ToTime(u.Initiated)})
		}
		if !aws.ToBool(out.IsTruncated) {
			return uploads, false, nil
		}
		if aws.ToString(out.NextKeyMarker) == aws.ToString(in.KeyMarker) && aws.ToString(out.NextUploadIdMarker) == aws.ToString(in.UploadIdMarker) {
			return uploads, true, nil // the server would go in circles
		}
		in.KeyMarker, in.UploadIdMarker = out.NextKeyMarker, out.NextUploadIdMarker
	}
}

// AbortUpload removes the parts of one upload.
func (s *Store) AbortUpload(ctx context.Context, key, id string) error {
	if err := s.enter(ctx, "abort upload of", key); err != nil {
		return err
	}
	if id == "" {
		return status.Errorf(status.Invalid, "abort upload of %s: the upload has no id", key)
	}
	_, err := s.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: s.bucket(), Key: s.name(key), UploadId: aws.String(id)})
	if err == nil {
		return nil
	}
	if err = s.failed(ctx, err, call{verb: "abort upload of", key: key}); gone(err) {
		return nil
	}
	return err
}
