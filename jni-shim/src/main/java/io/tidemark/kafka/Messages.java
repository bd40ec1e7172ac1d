package io.tidemark.kafka;

import io.tidemark.kafka.flatbuffers.FlatBufferBuilder;
import io.tidemark.kafka.wire.CopyRequest;
import io.tidemark.kafka.wire.DeleteRequest;
import io.tidemark.kafka.wire.Epoch;
import io.tidemark.kafka.wire.FactsRequest;
import io.tidemark.kafka.wire.InitRequest;
import io.tidemark.kafka.wire.LeadershipRequest;
import io.tidemark.kafka.wire.OpenRequest;
import io.tidemark.kafka.wire.Property;
import io.tidemark.kafka.wire.SegmentRef;
import io.tidemark.kafka.wire.SegmentsRequest;
import io.tidemark.kafka.wire.StatesRequest;
import io.tidemark.kafka.wire.StatesWanted;
import io.tidemark.kafka.wire.StreamRequest;
import io.tidemark.kafka.wire.TopicPartition;
import io.tidemark.kafka.wire.Uuid;
import io.tidemark.kafka.wire.WantedReply;
import io.tidemark.kafka.wire.WantedRequest;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;

/** Kafka's objects as framed messages. Each frame is valid until its thread builds the next one. */
final class Messages {
    private Messages() {
    }

    static ByteBuffer init(int cpus, long memoryLimit, String crashFile, int slabCount, int slabSize, String version,
            int logLevel) {
        FlatBufferBuilder b = Frame.builder();
        int crash = b.createString(crashFile);
        int ours = b.createString(version);
        int root = InitRequest.createInitRequest(b, cpus, memoryLimit, crash, slabCount, slabSize, ours, logLevel);
        return Frame.finish(b, root, Frame.INIT);
    }

    static ByteBuffer open(int nodeId, Map<String, ?> properties, String kafkaVersion, String javaVersion,
            int deadlineMs) {
        FlatBufferBuilder b = Frame.builder();
        List<Integer> pairs = new ArrayList<>(properties.size());
        for (Map.Entry<String, ?> e : properties.entrySet()) {
            if (e.getValue() != null) {
                int key = b.createString(e.getKey());
                pairs.add(Property.createProperty(b, key, b.createString(text(e.getValue()))));
            }
        }
        int all = OpenRequest.createPropertiesVector(b, ints(pairs));
        int kafka = b.createString(kafkaVersion);
        int java = b.createString(javaVersion);
        return Frame.finish(b, OpenRequest.createOpenRequest(b, nodeId, all, kafka, java, deadlineMs), Frame.OPEN);
    }

    private static String text(Object value) {
        return value instanceof Password ? ((Password) value).value() : value.toString();
    }

    static ByteBuffer copy(RemoteLogSegmentMetadata m, LogSegmentData data, int deadlineMs) {
        FlatBufferBuilder b = Frame.builder();
        int segment = segment(b, m, b.createString(m.topicIdPartition().topic()));
        int log = path(b, data.logSegment());
        int offsetIndex = path(b, data.offsetIndex());
        int timeIndex = path(b, data.timeIndex());
        int snapshot = path(b, data.producerSnapshotIndex());
        int txnIndex = data.transactionIndex().isPresent() ? path(b, data.transactionIndex().get()) : b.createString("");
        // Duplicated: the position of the buffer belongs to the broker.
        int epochs = CopyRequest.createLeaderEpochIndexVector(b, data.leaderEpochIndex().duplicate());
        return Frame.finish(b, CopyRequest.createCopyRequest(b, segment, log, offsetIndex, timeIndex, snapshot,
                txnIndex, epochs, deadlineMs), Frame.COPY);
    }

    private static int path(FlatBufferBuilder b, Path path) {
        return b.createString(path.toAbsolutePath().toString());
    }

    /**
     * {@code end} is exclusive, -1 to the end of the segment; positions count for the log only. {@code after} is the
     * next segment or null.
     */
    static ByteBuffer stream(RemoteLogSegmentMetadata m, byte kind, long start, long end, int deadlineMs,
            int nextDeadlineMs, RemoteLogSegmentMetadata after) {
        FlatBufferBuilder b = Frame.builder();
        int topic = b.createString(m.topicIdPartition().topic());
        int segment = segment(b, m, topic);
        int next = after == null ? 0 : segment(b, after, topic);
        return Frame.finish(b, StreamRequest.createStreamRequest(b, segment, kind, start, end, deadlineMs,
                nextDeadlineMs, next), Frame.STREAM);
    }

    static ByteBuffer delete(RemoteLogSegmentMetadata m, int deadlineMs) {
        FlatBufferBuilder b = Frame.builder();
        int segment = segment(b, m, b.createString(m.topicIdPartition().topic()));
        return Frame.finish(b, DeleteRequest.createDeleteRequest(b, segment, deadlineMs), Frame.DELETE);
    }

    static ByteBuffer leadership(Collection<TopicIdPartition> leaders, Collection<TopicIdPartition> followers,
            Collection<TopicIdPartition> stopped) {
        FlatBufferBuilder b = Frame.builder();
        int led = LeadershipRequest.createLeadersVector(b, partitions(b, leaders));
        int followed = LeadershipRequest.createFollowersVector(b, partitions(b, followers));
        int gone = LeadershipRequest.createStoppedVector(b, partitions(b, stopped));
        return Frame.finish(b, LeadershipRequest.createLeadershipRequest(b, led, followed, gone), Frame.LEADERSHIP);
    }

    static ByteBuffer facts(Facts facts) {
        FlatBufferBuilder b = Frame.builder();
        int cluster = b.createString(facts.clusterId());
        int bootstrap = b.createString(facts.bootstrap());
        int protocol = b.createString(facts.securityProtocol());
        int logDir = b.createString(facts.logDir());
        return Frame.finish(b, FactsRequest.createFactsRequest(b, cluster, bootstrap, protocol, logDir),
                Frame.FACTS);
    }

    static ByteBuffer wanted() {
        FlatBufferBuilder b = Frame.builder();
        return Frame.finish(b, WantedRequest.createWantedRequest(b, false), Frame.WANTED);
    }

    /** {@code more}: the list goes on after its last segment. */
    static ByteBuffer segments(Wanted wanted, List<RemoteLogSegmentMetadata> segments, boolean more, String error) {
        FlatBufferBuilder b = Frame.builder();
        int topic = b.createString(wanted.partition().topic());
        List<Integer> refs = new ArrayList<>(segments.size());
        for (RemoteLogSegmentMetadata m : segments) {
            refs.add(segment(b, m, topic));
        }
        int all = SegmentsRequest.createSegmentsVector(b, ints(refs));
        int text = b.createString(error);
        int of = partition(b, wanted.partition(), topic, wanted.from());
        return Frame.finish(b, SegmentsRequest.createSegmentsRequest(b, of, all, text, more), Frame.SEGMENTS);
    }

    static ByteBuffer states(long ticket, byte[] states, long end, int givenUp, String error) {
        FlatBufferBuilder b = Frame.builder();
        int all = StatesRequest.createStatesVector(b, states);
        int text = b.createString(error);
        return Frame.finish(b, StatesRequest.createStatesRequest(b, ticket, all, end, givenUp, text), Frame.STATES);
    }

    /** What a {@link Frame#WANTED_REPLY} asks for. */
    static AllWanted wanted(byte[] reply) {
        ByteBuffer payload = Frame.payload(reply, Frame.WANTED_REPLY);
        if (payload == null) {
            throw new IllegalStateException("the native library answered with a damaged message");
        }
        WantedReply wanted = WantedReply.getRootAsWantedReply(payload);
        List<Wanted> lists = new ArrayList<>();
        for (int i = 0; i < wanted.partitionsLength(); i++) {
            TopicPartition p = wanted.partitions(i);
            lists.add(new Wanted(partition(p), p.from()));
        }
        List<WantedStates> states = new ArrayList<>();
        for (int i = 0; i < wanted.statesLength(); i++) {
            StatesWanted w = wanted.states(i);
            List<org.apache.kafka.common.Uuid> ids = new ArrayList<>();
            for (int n = 0; n < w.segmentsLength(); n++) {
                ids.add(uuid(w.segments(n)));
            }
            states.add(new WantedStates(partition(w.partition()), w.ticket(), ids, w.giveUp()));
        }
        return new AllWanted(lists, states);
    }

    private static TopicIdPartition partition(TopicPartition p) {
        return new TopicIdPartition(uuid(p.topicId()), p.partition(), p.topic());
    }

    private static org.apache.kafka.common.Uuid uuid(Uuid id) {
        return new org.apache.kafka.common.Uuid(id.msb(), id.lsb());
    }

    private static int segment(FlatBufferBuilder b, RemoteLogSegmentMetadata m, int topic) {
        NavigableMap<Integer, Long> epochs = m.segmentLeaderEpochs();
        SegmentRef.startEpochsVector(b, epochs.size());
        for (Map.Entry<Integer, Long> e : epochs.descendingMap().entrySet()) { // vectors are built backwards
            Epoch.createEpoch(b, e.getKey(), e.getValue());
        }
        int epochVector = b.endVector();
        byte[] custom = m.customMetadata().map(CustomMetadata::value).orElse(new byte[0]);
        int customVector = SegmentRef.createCustomVector(b, custom);
        org.apache.kafka.common.Uuid topicId = m.topicIdPartition().topicId();
        org.apache.kafka.common.Uuid segmentId = m.remoteLogSegmentId().id();
        SegmentRef.startSegmentRef(b);
        SegmentRef.addTopicId(b, uuid(b, topicId));
        SegmentRef.addTopic(b, topic);
        SegmentRef.addPartition(b, m.topicIdPartition().partition());
        SegmentRef.addSegmentId(b, uuid(b, segmentId));
        SegmentRef.addBaseOffset(b, m.startOffset());
        SegmentRef.addEndOffset(b, m.endOffset());
        SegmentRef.addMaxTimestampMs(b, m.maxTimestampMs());
        SegmentRef.addSize(b, m.segmentSizeInBytes());
        SegmentRef.addEpochs(b, epochVector);
        SegmentRef.addCustom(b, customVector);
        SegmentRef.addBrokerId(b, m.brokerId());
        SegmentRef.addTxnIndexEmpty(b, m.isTxnIdxEmpty());
        return SegmentRef.endSegmentRef(b);
    }

    private static int[] partitions(FlatBufferBuilder b, Collection<TopicIdPartition> all) {
        List<Integer> out = new ArrayList<>(all.size());
        for (TopicIdPartition p : all) {
            out.add(partition(b, p, b.createSharedString(p.topic()), 0));
        }
        return ints(out);
    }

    private static int partition(FlatBufferBuilder b, TopicIdPartition p, int topic, long from) {
        TopicPartition.startTopicPartition(b);
        TopicPartition.addTopicId(b, uuid(b, p.topicId()));
        TopicPartition.addTopic(b, topic);
        TopicPartition.addPartition(b, p.partition());
        TopicPartition.addFrom(b, from);
        return TopicPartition.endTopicPartition(b);
    }

    private static int uuid(FlatBufferBuilder b, org.apache.kafka.common.Uuid id) {
        return Uuid.createUuid(b, id.getMostSignificantBits(), id.getLeastSignificantBits());
    }

    private static int[] ints(List<Integer> list) {
        return list.stream().mapToInt(Integer::intValue).toArray();
    }

    /** A partition whose segments Go wants to know, except those that end below {@code from}. */
    record Wanted(TopicIdPartition partition, long from) {
    }

    /** A question about the states of segments; with {@code giveUp} those whose copy never ended are to be given up. */
    record WantedStates(TopicIdPartition partition, long ticket, List<org.apache.kafka.common.Uuid> segments,
            boolean giveUp) {
    }

    /** All that Go wants to know. */
    record AllWanted(List<Wanted> lists, List<WantedStates> states) {
    }

    /** What the metadata manager knows of the broker. Empty strings are unknown. */
    record Facts(String clusterId, String bootstrap, String securityProtocol, String logDir) {
    }
}
