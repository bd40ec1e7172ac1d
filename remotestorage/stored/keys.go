package stored

import "tidemark/internal/objectstore/key"

// Keys are the keys of the two objects of a segment. They follow from what every caller knows, because the delete after
// a failed copy carries no custom metadata.
func (id Identity) Keys() (log, sidecar string) {
	return key.Segment(id.TopicID, id.Partition, id.BaseOffset, id.SegmentID)
}
