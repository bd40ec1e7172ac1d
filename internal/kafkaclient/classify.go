package kafkaclient

import (
	"context"
	"errors"
	"net"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/status"
)

// classify adds context in front of err and gives it its class. It returns nil for nil.
func classify(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return status.Wrapf(status.Errorf(classOf(err), "%w", err), format, args...)
}

func classOf(err error) status.Class {
	var answer *kerr.Error
	var network net.Error
	switch {
	case errors.As(err, &answer):
		return classOfAnswer(answer)
	case errors.Is(err, kgo.ErrClientClosed):
		return status.Closed
	case errors.Is(err, context.Canceled):
		return status.Cancelled
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network), kgo.IsRetryableBrokerErr(err):
		return status.Transient
	}
	return status.Of(err)
}

func classOfAnswer(e *kerr.Error) status.Class {
	switch e {
	case kerr.UnknownTopicOrPartition, kerr.UnknownTopicID:
		return status.NotFound
	case kerr.TopicAlreadyExists:
		return status.Conflict
	case kerr.ThrottlingQuotaExceeded:
		return status.Throttled
	case kerr.InvalidReplicationFactor, kerr.InvalidPartitions, kerr.InvalidConfig, kerr.InvalidTopicException, kerr.PolicyViolation,
		kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.InvalidRecord, kerr.TopicAuthorizationFailed, kerr.ClusterAuthorizationFailed,
		kerr.OffsetOutOfRange:
		return status.Invalid
	case kerr.UnsupportedVersion, kerr.UnsupportedCompressionType:
		return status.Unsupported
	case kerr.CorruptMessage:
		return status.Corrupt
	}
	if e.Retriable {
		return status.Transient
	}
	return status.Internal
}
