package budget

import (
	"context"
	"math"
	"time"

	"tidemark/internal/status"
)

// Limit is a number of bytes per second that callers together stay below, in order of asking and in pieces, so that many get on side by side.
type Limit struct {
	what  string
	rate  *Rate
	piece int64
	noted func(time.Duration)
}

// Pieces of a limit: small enough that bytes flow evenly and nobody waits long behind others, large enough that asking costs nothing.
const (
	maxPiece = 256 << 10
	minPiece = 16 << 10
)

// NewLimit makes a limit of perSecond bytes, positive; what names it in errors, noted is told of every wait. A tenth of a second's bytes may come at once.
func NewLimit(what string, perSecond int64, noted func(time.Duration)) *Limit {
	burst := max(perSecond/10, minPiece)
	return &Limit{what: what, rate: NewRate(float64(perSecond), float64(burst)), piece: min(burst, maxPiece), noted: noted}
}

// Wait waits until n more bytes may move. Deadlines of a [Pace] move by the time that it takes.
func (l *Limit) Wait(ctx context.Context, n int64) (waited time.Duration, err error) {
	for n > 0 {
		piece := min(n, l.piece)
		n -= piece
		wait, _ := l.rate.Reserve(float64(piece), math.MaxInt64)
		if wait <= 0 {
			continue
		}
		Extend(ctx, wait)
		waited += wait
		l.noted(wait)
		if !Sleep(ctx, wait) {
			return waited, status.Wrapf(ctx.Err(), "waiting for %s", l.what)
		}
	}
	return waited, nil
}

type limitsKey struct{}

// limits are those of a context, the outermost last.
type limits struct {
	*Limit
	next *limits
}

// WithLimit makes bytes that move under ctx count in l too; nil is no limit.
func WithLimit(ctx context.Context, l *Limit) context.Context {
	if l == nil {
		return ctx
	}
	next, _ := ctx.Value(limitsKey{}).(*limits)
	return context.WithValue(ctx, limitsKey{}, &limits{l, next})
}

// Piece is how many bytes at most to ask [Pass] for at once, 0 if ctx has no limit.
func Piece(ctx context.Context) (most int64) {
	l, _ := ctx.Value(limitsKey{}).(*limits)
	for ; l != nil; l = l.next {
		if most == 0 || l.piece < most {
			most = l.piece
		}
	}
	return most
}

// Pass waits until n bytes may move under all limits of ctx.
func Pass(ctx context.Context, n int64) (waited time.Duration, err error) {
	l, _ := ctx.Value(limitsKey{}).(*limits)
	for ; l != nil && err == nil; l = l.next {
		var one time.Duration
		one, err = l.Wait(ctx, n)
		waited += one
	}
	return waited, err
}
