package s3

import (
	"context"
	"io"
	"net/http"

	"tidemark/internal/budget"
	"tidemark/internal/objectstore"
)

// metered notes every request in the tally of its context and sends its body within the limits of it. This is where a body is read to be sent,
// and not to be summed or signed.
type metered struct{ http.RoundTripper }

// RoundTrip sends one request.
func (m metered) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	objectstore.TallyOf(ctx).Request()
	if piece := budget.Piece(ctx); piece > 0 && r.Body != nil && r.ContentLength > 0 {
		slow := *r // a request belongs to its caller
		slow.Body = &limitedBody{ReadCloser: r.Body, ctx: ctx, left: r.ContentLength, piece: piece}
		slow.GetBody = nil // a body that is sent again without asking would not be limited
		r = &slow
	}
	return m.RoundTripper.RoundTrip(r)
}

// limitedBody asks for permission piece by piece.
type limitedBody struct {
	io.ReadCloser
	ctx         context.Context
	left, piece int64
	granted     int64
}

// Read reads at most what may be sent.
func (b *limitedBody) Read(p []byte) (int, error) {
	if b.granted == 0 && b.left > 0 {
		n := min(b.piece, b.left)
		if err := objectstore.Pass(b.ctx, n); err != nil {
			return 0, err
		}
		b.granted, b.left = n, b.left-n
	}
	if b.granted > 0 {
		p = p[:min(int64(len(p)), b.granted)]
	}
	n, err := b.ReadCloser.Read(p)
	b.granted -= min(int64(n), b.granted)
	return n, err
}
