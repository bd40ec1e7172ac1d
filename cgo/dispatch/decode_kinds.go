package dispatch

import "tidemark/internal/wire"

func decodeInit(frame []byte) (req InitRequest, err error) {
	payload, err := framePayload(frame, KindInit)
	if err != nil {
		return req, err
	}
	defer invalid("init", &err)
	r, m := newReader(payload), wire.GetRootAsInitRequest(payload, 0)
	req = InitRequest{
		CPUs:        int(r.within("cpus", int64(m.Cpus()), 1, 1<<16)),
		MemoryLimit: r.atLeast("memory_limit", m.MemoryLimit(), 0),
		CrashFile:   r.path("crash_file", m.CrashFile()),
		SlabCount:   int(r.within("slab_count", int64(m.SlabCount()), 1, 1<<14)),
		SlabSize:    int(r.within("slab_size", int64(m.SlabSize()), minSlab, maxSlab)),
		Version:     r.required("version", m.Version(), maxShort),
		LogLevel:    int(r.within("log_level", int64(m.LogLevel()), 0, 3)),
	}
	if req.SlabSize%pageSize != 0 {
		r.fail("slab_size: %d is not a multiple of %d", req.SlabSize, pageSize)
	}
	return req, r.err
}

func decodeOpen(frame []byte) (req OpenRequest, err error) {
	payload, err := framePayload(frame, KindOpen)
	if err != nil {
		return req, err
	}
	defer invalid("open", &err)
	r, m := newReader(payload), wire.GetRootAsOpenRequest(payload, 0)
	req = OpenRequest{
		NodeID:       m.NodeId(),
		KafkaVersion: r.text("kafka_version", m.KafkaVersion(), maxShort),
		JavaVersion:  r.text("java_version", m.JavaVersion(), maxShort),
		Deadline:     r.deadline("deadline_ms", m.DeadlineMs()),
	}
	n := r.count("properties", m.PropertiesLength(), maxProperties, 32)
	req.Properties = make(map[string]string, n)
	var p wire.Property
	for i := 0; i < n && r.err == nil; i++ {
		m.Properties(&p, i)
		key := r.required("properties.key", p.Key(), maxShort)
		if _, twice := req.Properties[key]; twice {
			r.fail("properties: %q is given twice", key)
		}
		req.Properties[key] = r.text("properties.value", p.Value(), maxText)
	}
	return req, r.err
}

func decodeCopy(frame []byte) (req CopyRequest, err error) {
	payload, err := framePayload(frame, KindCopy)
	if err != nil {
		return req, err
	}
	defer invalid("copy", &err)
	r, m := newReader(payload), wire.GetRootAsCopyRequest(payload, 0)
	req = CopyRequest{
		Segment: r.segment(m.Segment(nil)),
		Paths: Paths{
			Log:              r.path("log", m.Log()),
			OffsetIndex:      r.path("offset_index", m.OffsetIndex()),
			TimeIndex:        r.path("time_index", m.TimeIndex()),
			ProducerSnapshot: r.path("producer_snapshot", m.ProducerSnapshot()),
			TxnIndex:         r.path("txn_index", m.TxnIndex()),
			LeaderEpochs:     r.blob("leader_epoch_index", m.LeaderEpochIndexBytes(), maxCheckpoint),
		},
		Deadline: r.deadline("deadline_ms", m.DeadlineMs()),
	}
	for _, p := range []struct{ field, path string }{
		{"log", req.Paths.Log}, {"offset_index", req.Paths.OffsetIndex}, {"time_index", req.Paths.TimeIndex},
		{"producer_snapshot", req.Paths.ProducerSnapshot},
	} {
		if p.path == "" {
			r.fail("%s: missing", p.field)
		}
	}
	return req, r.err
}

func decodeStream(frame []byte) (req StreamRequest, err error) {
	payload, err := framePayload(frame, KindStream)
	if err != nil {
		return req, err
	}
	defer invalid("stream", &err)
	r, m := newReader(payload), wire.GetRootAsStreamRequest(payload, 0)
	req = StreamRequest{
		Segment:      r.segment(m.Segment(nil)),
		Kind:         StreamKind(r.within("kind", int64(m.Kind()), int64(StreamSegment), int64(StreamLeaderEpoch))),
		Start:        r.atLeast("start", m.Start(), 0),
		End:          r.atLeast("end", m.End(), -1),
		Deadline:     r.deadline("deadline_ms", m.DeadlineMs()),
		NextDeadline: r.deadline("next_deadline_ms", m.NextDeadlineMs()),
	}
	if next := m.Next(nil); next != nil {
		s := r.segment(next)
		req.Next = &s
	}
	if req.Kind == StreamSegment && req.End != -1 && req.End < req.Start {
		r.fail("end: %d is before the start %d", req.End, req.Start)
	}
	return req, r.err
}

func decodeDelete(frame []byte) (req DeleteRequest, err error) {
	payload, err := framePayload(frame, KindDelete)
	if err != nil {
		return req, err
	}
	defer invalid("delete", &err)
	r, m := newReader(payload), wire.GetRootAsDeleteRequest(payload, 0)
	req = DeleteRequest{Segment: r.segment(m.Segment(nil)), Deadline: r.deadline("deadline_ms", m.DeadlineMs())}
	return req, r.err
}

func decodeLeadership(frame []byte) (req LeadershipRequest, err error) {
	payload, err := framePayload(frame, KindLeadership)
	if err != nil {
		return req, err
	}
	defer invalid("leadership", &err)
	r, m := newReader(payload), wire.GetRootAsLeadershipRequest(payload, 0)
	req = LeadershipRequest{
		Leaders:   r.partitions("leaders", m.LeadersLength(), m.Leaders),
		Followers: r.partitions("followers", m.FollowersLength(), m.Followers),
		Stopped:   r.partitions("stopped", m.StoppedLength(), m.Stopped),
	}
	return req, r.err
}

func decodeFacts(frame []byte) (req FactsRequest, err error) {
	payload, err := framePayload(frame, KindFacts)
	if err != nil {
		return req, err
	}
	defer invalid("facts", &err)
	r, m := newReader(payload), wire.GetRootAsFactsRequest(payload, 0)
	req = FactsRequest{
		ClusterID:        r.text("cluster_id", m.ClusterId(), maxShort),
		Bootstrap:        r.text("bootstrap", m.Bootstrap(), maxShort),
		SecurityProtocol: r.text("security_protocol", m.SecurityProtocol(), maxShort),
		LogDir:           r.path("log_dir", m.LogDir()),
	}
	return req, r.err
}

func decodeWanted(frame []byte) (err error) {
	payload, err := framePayload(frame, KindWanted)
	if err != nil {
		return err
	}
	defer invalid("wanted", &err)
	wire.GetRootAsWantedRequest(payload, 0).Unused()
	return nil
}

func decodeSegments(frame []byte) (req SegmentsRequest, err error) {
	payload, err := framePayload(frame, KindSegments)
	if err != nil {
		return req, err
	}
	defer invalid("segments", &err)
	r, m := newReader(payload), wire.GetRootAsSegmentsRequest(payload, 0)
	t := m.Partition(nil)
	if t == nil {
		r.fail("partition: missing")
		return req, r.err
	}
	req.Partition = r.partition(t)
	req.Error, req.More = r.text("error", m.Error(), maxText), m.More()
	n := r.count("segments", m.SegmentsLength(), maxSegments, 160)
	req.Segments = make([]Segment, 0, n)
	var s wire.SegmentRef
	for i := 0; i < n && r.err == nil; i++ {
		m.Segments(&s, i)
		req.Segments = append(req.Segments, r.segment(&s))
	}
	return req, r.err
}

func decodeStates(frame []byte) (req StatesRequest, err error) {
	payload, err := framePayload(frame, KindStates)
	if err != nil {
		return req, err
	}
	defer invalid("states", &err)
	r, m := newReader(payload), wire.GetRootAsStatesRequest(payload, 0)
	req = StatesRequest{
		Ticket:  r.atLeast("ticket", m.Ticket(), 1),
		End:     r.atLeast("end", m.End(), 0),
		GivenUp: int(r.within("given_up", int64(m.GivenUp()), 0, maxStates)),
		Error:   r.text("error", m.Error(), maxText),
	}
	n := r.count("states", m.StatesLength(), maxStates, 1)
	req.States = make([]int8, 0, n)
	for i := range n {
		req.States = append(req.States, int8(r.within("states", int64(m.States(i)), -1, 3)))
	}
	return req, r.err
}
