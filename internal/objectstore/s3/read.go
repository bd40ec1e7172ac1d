package s3

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"tidemark/internal/budget"
	"tidemark/internal/objectstore"
	"tidemark/internal/status"
)

// Get returns the whole object.
func (s *Store) Get(ctx context.Context, key string, limit int64) ([]byte, objectstore.Info, error) {
	if err := s.enter(ctx, "get", key); err != nil {
		return nil, objectstore.Info{}, err
	}
	request, end := context.WithCancel(ctx)
	out, err := s.client.GetObject(request, &s3.GetObjectInput{Bucket: s.bucket(), Key: s.name(key)})
	c := call{verb: "get", key: key}
	if err != nil {
		end()
		return nil, objectstore.Info{}, s.failed(ctx, err, c)
	}
	r := &reading{store: s, c: c, body: s.watch(out.Body, end), etag: out.ETag, end: aws.ToInt64(out.ContentLength)}
	defer func() { r.close() }() // the body that is the last then
	if out.ContentLength == nil {
		return nil, objectstore.Info{}, status.Errorf(status.Unsupported, "get %s: %s does not say how long the object is", key, s.config.where())
	}
	info := objectstore.Info{Key: key, Size: *out.ContentLength, ETag: bare(out.ETag), Modified: aws.ToTime(out.LastModified)}
	if info.Size > limit {
		return nil, info, objectstore.TooLarge(key, info.Size, limit)
	}
	data := make([]byte, info.Size)
	if err := r.fill(ctx, data); err != nil {
		return nil, info, err
	}
	if err := r.drained(ctx); err != nil {
		return nil, info, err
	}
	return data, info, nil
}

// ReadRange fills dst from offset on.
func (s *Store) ReadRange(ctx context.Context, key string, dst []byte, offset int64) error {
	return s.ReadScatter(ctx, key, [][]byte{dst}, offset, func(int) {})
}

// ReadScatter fills one buffer after the other from the body of one reply.
func (s *Store) ReadScatter(ctx context.Context, key string, dsts [][]byte, offset int64, filled func(i int)) error {
	if err := objectstore.CheckRange(key, offset); err != nil {
		return err
	}
	if err := s.enter(ctx, "read", key); err != nil {
		return err
	}
	length := objectstore.Length(dsts)
	if length == 0 {
		info, err := s.Head(ctx, key)
		if err == nil && offset > info.Size {
			err = objectstore.ShortRange(key, offset, 0, info.Size)
		}
		for i := range dsts {
			if err == nil {
				filled(i)
			}
		}
		return err
	}
	c := call{verb: fmt.Sprintf("read bytes %d to %d of", offset, offset+length), key: key}
	r, err := s.openRange(ctx, c, offset, length, nil)
	if err != nil {
		return err
	}
	defer r.close()
	for i, dst := range dsts {
		if err := r.fill(ctx, dst); err != nil {
			return err
		}
		if i == len(dsts)-1 {
			if err := r.finish(ctx, dst); err != nil {
				return err
			}
		}
		filled(i)
	}
	return nil
}

// wrongRetry is how often a range is asked for whose reply is not that range.
var wrongRetry = budget.Retry{Attempts: 2, Base: 50 * time.Millisecond, Max: 2 * time.Second}

// errWrong is in errors of replies that are not what was asked for.
var errWrong = errors.New("not what was asked for")

// openRange asks for a range, once more if the reply is not that range: a proxy may have mixed it up.
func (s *Store) openRange(ctx context.Context, c call, offset, length int64, etag *string) (r *reading, err error) {
	_ = s.repeats(wrongRetry).Do(ctx, func(ctx context.Context, attempt int) error {
		if r, err = s.askRange(ctx, c, offset, length, etag); !errors.Is(err, errWrong) {
			return nil
		}
		s.log.Warn("s3.read.wrong.reply", "key", c.key, "attempt", attempt, "error", err.Error())
		return status.Errorf(status.Transient, "wrong reply")
	})
	return r, err
}

// askRange asks for a range. The reply must say that it is that range: some servers and proxies answer with the whole object or
// with what they have. With an ETag it must be of that object still.
func (s *Store) askRange(ctx context.Context, c call, offset, length int64, etag *string) (*reading, error) {
	request, end := context.WithCancel(ctx)
	out, err := s.client.GetObject(request, &s3.GetObjectInput{Bucket: s.bucket(), Key: s.name(c.key), IfMatch: etag,
		Range: aws.String(fmt.Sprintf("bytes=%d-%d", offset, offset+length-1))})
	if err != nil {
		defer end()
		if size, beyond := s.beyond(ctx, err, c.key); beyond {
			return nil, objectstore.ShortRange(c.key, offset, int(length), size)
		}
		return nil, s.failed(ctx, err, c)
	}
	first, last, size, ok := parseContentRange(aws.ToString(out.ContentRange))
	switch {
	case !ok && out.ContentRange == nil && offset == 0 && aws.ToInt64(out.ContentLength) == length:
		// The whole object is what was asked for.
	case !ok:
		err = status.Errorf(status.Unsupported, "%s %s: %s answered without the range (Content-Range %q): it, or a proxy before it, ignores ranged reads: %w",
			c.verb, c.key, s.config.where(), aws.ToString(out.ContentRange), errWrong)
	case first == offset && last < offset+length-1 && last == size-1:
		err = objectstore.ShortRange(c.key, offset, int(length), size)
	case first != offset || last != offset+length-1:
		err = status.Errorf(status.Corrupt, "%s %s: %s answered with bytes %d to %d: %w", c.verb, c.key, s.config.where(), first, last+1, errWrong)
	}
	if err != nil {
		_ = out.Body.Close()
		end()
		return nil, err
	}
	return &reading{store: s, c: c, body: s.watch(out.Body, end), etag: out.ETag, at: offset, end: offset + length}, nil
}

// beyond tells that a range starts behind the end of the object, and where that is.
func (s *Store) beyond(ctx context.Context, err error, key string) (size int64, is bool) {
	var response *smithyhttp.ResponseError
	if !errors.As(err, &response) || response.HTTPStatusCode() != 416 {
		return 0, false
	}
	if response.Response != nil {
		_, total, _ := strings.Cut(response.Response.Header.Get("Content-Range"), "/")
		if size, err := strconv.ParseInt(total, 10, 64); err == nil {
			return size, true
		}
	}
	info, err := s.Head(ctx, key)
	return info.Size, err == nil
}

// parseContentRange reads "bytes first-last/size".
func parseContentRange(text string) (first, last, size int64, ok bool) {
	rest, found := strings.CutPrefix(text, "bytes ")
	span, total, found2 := strings.Cut(rest, "/")
	from, to, found3 := strings.Cut(span, "-")
	if !found || !found2 || !found3 {
		return 0, 0, 0, false
	}
	first, err1 := strconv.ParseInt(from, 10, 64)
	last, err2 := strconv.ParseInt(to, 10, 64)
	size, err3 := strconv.ParseInt(total, 10, 64)
	return first, last, size, err1 == nil && err2 == nil && err3 == nil && first <= last && last < size
}

// Head returns the description of an object.
func (s *Store) Head(ctx context.Context, key string) (objectstore.Info, error) {
	if err := s.enter(ctx, "head", key); err != nil {
		return objectstore.Info{}, err
	}
	out, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: s.bucket(), Key: s.name(key)})
	if err != nil {
		return objectstore.Info{}, s.failed(ctx, err, call{verb: "head", key: key})
	}
	return objectstore.Info{Key: key, Size: aws.ToInt64(out.ContentLength), ETag: bare(out.ETag), Modified: aws.ToTime(out.LastModified)}, nil
}

// pageKeys is S3's page.
const pageKeys = 1000

// List pages through the keys. Keys that are no objects of this store (markers that end in a slash, the store's own) are
// left out. The order is the server's: Amazon's is that of keys; SeaweedFS sorts directory by directory, so that "a/b"
// comes before "a-b", and a page after "a" misses all below "a/". Layouts without such neighbours are listed right on both.
func (s *Store) List(ctx context.Context, prefix, after string, max int) (page []objectstore.Info, more bool, err error) {
	if err := objectstore.CheckList(prefix, max); err != nil {
		return nil, false, err
	}
	if err := ctx.Err(); err != nil {
		return nil, false, status.Wrapf(err, "list %q", prefix)
	}
	in := &s3.ListObjectsV2Input{Bucket: s.bucket(), Prefix: s.name(prefix)}
	if after != "" {
		in.StartAfter = s.name(after)
	}
	for more = true; more && len(page) < max; {
		in.MaxKeys = aws.Int32(int32(min(max-len(page), pageKeys)))
		out, err := s.client.ListObjectsV2(ctx, in)
		if err != nil {
			return nil, false, s.failed(ctx, err, call{verb: "list", key: prefix})
		}
		for _, o := range out.Contents {
			in.StartAfter = o.Key
			key, ok := strings.CutPrefix(aws.ToString(o.Key), s.prefix)
			if ok && objectstore.CheckKey(key) == nil && len(page) < max {
				page = append(page, s.listed(key, o))
			}
		}
		more = aws.ToBool(out.IsTruncated) && len(out.Contents) > 0
	}
	return page, more, nil
}

func (s *Store) listed(key string, o types.Object) objectstore.Info {
	return objectstore.Info{Key: key, Size: aws.ToInt64(o.Size), ETag: bare(o.ETag), Modified: aws.ToTime(o.LastModified)}
}

// enter refuses bad keys and ended contexts before anything is sent.
func (s *Store) enter(ctx context.Context, verb, key string) error {
	if err := objectstore.CheckKey(key); err != nil {
		return err
	}
	return status.Wrapf(ctx.Err(), "%s %s", verb, key)
}

// bare is an ETag without the quotes, which not every server sends everywhere.
func bare(etag *string) string { return strings.Trim(aws.ToString(etag), `"`) }
