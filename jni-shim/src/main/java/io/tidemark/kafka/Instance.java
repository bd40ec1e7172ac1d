package io.tidemark.kafka;

import io.tidemark.kafka.wire.StreamKind;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager.IndexType;

/** One open Go instance: the plugin's calls as messages, and their failures as Kafka's exceptions. */
final class Instance {
    /** By node id, so that the metadata manager finds what the storage manager of the same broker opened. */
    private static final ConcurrentMap<Integer, Instance> OPEN = new ConcurrentHashMap<>();

    /** The limit Kafka has by default; over it the broker stops tiering the partition. */
    private static final int MAX_CUSTOM_METADATA = 128;
    private static final int OPEN_DEADLINE_MS = 30_000;
    private static final int CLOSE_DEADLINE_MS = 10_000;
    private static final int DELETE_DEADLINE_MS = 5_000;
    // Outer bounds: within them fetch.deadline.ms, copy.deadline.ms and the least rates decide.
    private static final int STREAM_DEADLINE_MS = 120_000;
    private static final int COPY_FLOOR_MS = 3_600_000;
    private static final int COPY_BYTES_PER_MS = 16;

    private final Transport transport;
    private final int nodeId;
    private final long handle;
    private final HandleGuard guard = new HandleGuard();

    private Instance(Transport transport, int nodeId, long handle) {
        this.transport = transport;
        this.nodeId = nodeId;
        this.handle = handle;
    }

    /** The open instance of a node, or null. */
    static Instance find(int nodeId) {
        return OPEN.get(nodeId);
    }

    /** Opens the instance of a node. A refusal is a ConfigException with the text of Go. */
    static Instance open(Transport transport, int nodeId, Map<String, ?> properties, String kafkaVersion) {
        long[] handle = new long[1];
        byte[][] out = new byte[2][];
        ByteBuffer request = Messages.open(nodeId, properties, kafkaVersion,
                System.getProperty("java.version", ""), OPEN_DEADLINE_MS);
        int status = transport.open(request, handle, out);
        if (status != Status.OK) {
            throw Failure.of(status, out[1]).forConfigure();
        }
        Instance instance = new Instance(transport, nodeId, handle[0]);
        OPEN.put(nodeId, instance);
        return instance;
    }

    int nodeId() {
        return nodeId;
    }

    /** Copies a segment; the custom metadata, empty when there is none. */
    byte[] copy(RemoteLogSegmentMetadata segment, LogSegmentData data) throws RemoteStorageException {
        int deadline = (int) Math.min(Integer.MAX_VALUE,
                COPY_FLOOR_MS + (long) segment.segmentSizeInBytes() / COPY_BYTES_PER_MS);
        byte[][] out = new byte[2][];
        int status = call("copying the segment", op -> transport.copy(op,
                Messages.copy(segment, data, deadline), out));
        if (status != Status.OK) {
            throw Failure.of(status, out[1]).forCopy();
        }
        byte[] custom = out[0] == null ? new byte[0] : out[0];
        if (custom.length > MAX_CUSTOM_METADATA) {
            throw new RemoteStorageException("Internal: custom metadata of " + custom.length + " bytes, at most "
                    + MAX_CUSTOM_METADATA + " are allowed");
        }
        return custom;
    }

    /** The bytes of a segment from {@code start} to {@code end} (exclusive, -1 to the end of the segment). */
    InputStream segment(RemoteLogSegmentMetadata segment, long start, long end) throws RemoteStorageException {
        Opened opened = open(segment, StreamKind.Segment, start, end, Successors.of(nodeId, segment));
        if (opened.failure() != null) {
            throw opened.failure().forOpen();
        }
        return opened.stream();
    }

    /** An index, read whole: the broker may keep or leak what it is given. */
    byte[] index(RemoteLogSegmentMetadata segment, IndexType type) throws RemoteStorageException {
        Opened opened = open(segment, kindOf(type), 0, -1, null);
        if (opened.failure() != null) {
            throw opened.failure().forIndex();
        }
        SegmentStream stream = opened.stream();
        try (stream) {
            if (opened.total() > Integer.MAX_VALUE - 8) {
                throw new RemoteStorageException("Corrupt: an index of " + opened.total() + " bytes");
            }
            byte[] bytes = new byte[(int) opened.total()];
            int n = stream.readNBytes(bytes, 0, bytes.length);
            if (n != bytes.length) {
                throw new RemoteStorageException("Corrupt: the index ended " + (bytes.length - n) + " bytes early");
            }
            return bytes;
        } catch (IOException e) {
            Failure read = stream.failure();
            throw read != null ? read.forIndex() : new RemoteStorageException(e.getMessage(), e);
        }
    }

    private static byte kindOf(IndexType type) throws RemoteStorageException {
        switch (type) {
            case OFFSET:
                return StreamKind.Offset;
            case TIMESTAMP:
                return StreamKind.Timestamp;
            case PRODUCER_SNAPSHOT:
                return StreamKind.ProducerSnapshot;
            case TRANSACTION:
                return StreamKind.Transaction;
            case LEADER_EPOCH:
                return StreamKind.LeaderEpoch;
            default:
                throw new RemoteStorageException("Unsupported: index type " + type);
        }
    }

    /** A stream, or why there is none. */
    private record Opened(SegmentStream stream, long total, Failure failure) {
    }

    /** The operation lives as long as the stream. */
    private Opened open(RemoteLogSegmentMetadata segment, byte kind, long start, long end,
            RemoteLogSegmentMetadata next) throws RemoteStorageException {
        long[] streamAndTotal = new long[2];
        byte[][] out = new byte[2][];
        enter();
        Operation operation = null;
        boolean handedOver = false;
        try {
            operation = new Operation(transport, handle);
            int status = operation.run(op -> transport.streamOpen(op, Messages.stream(segment, kind, start, end,
                    STREAM_DEADLINE_MS, STREAM_DEADLINE_MS, next), streamAndTotal, out));
            if (status != Status.OK) {
                return new Opened(null, 0, Failure.of(status, out[1]));
            }
            SegmentStream stream = new SegmentStream(transport, guard, operation, streamAndTotal[0],
                    streamAndTotal[1]);
            handedOver = true;
            return new Opened(stream, streamAndTotal[1], null);
        } catch (AsynchronousCloseException e) {
            throw Failure.interrupted("opening the remote segment was cancelled");
        } finally {
            if (operation != null && !handedOver) {
                operation.free();
            }
            guard.exit();
        }
    }

    void delete(RemoteLogSegmentMetadata segment) throws RemoteStorageException {
        byte[][] out = new byte[2][];
        int status = call("deleting the segment", op -> transport.delete(op,
                Messages.delete(segment, DELETE_DEADLINE_MS), out));
        if (status != Status.OK) {
            RemoteStorageException e = Failure.of(status, out[1]).forDelete();
            if (e != null) {
                throw e;
            }
        }
    }

    /** Levels, not edges; Go queues them and returns. Null when they were taken, else why not. */
    Failure leadership(Collection<TopicIdPartition> leaders, Collection<TopicIdPartition> followers,
            Collection<TopicIdPartition> stopped) {
        if (!guard.enter()) {
            return Failure.closed();
        }
        try {
            byte[][] out = new byte[2][];
            int status = transport.leadership(handle, Messages.leadership(leaders, followers, stopped), out);
            return status == Status.OK ? null : Failure.of(status, out[1]);
        } finally {
            guard.exit();
        }
    }

    void facts(Messages.Facts facts) throws RemoteStorageException {
        byte[][] out = new byte[2][];
        require("sending the broker's facts", out, op -> transport.call(op, Messages.facts(facts), out));
    }

    /** The partitions whose remote segments Go wants to know, and the segments whose states. */
    Messages.AllWanted wanted() throws RemoteStorageException {
        byte[][] out = new byte[2][];
        require("asking for the wanted partitions", out, op -> transport.call(op, Messages.wanted(), out));
        return Messages.wanted(out[0]);
    }

    /** Answers for one wanted partition: its segments by base offset, or why they could not be listed. */
    void segments(Messages.Wanted wanted, List<RemoteLogSegmentMetadata> segments, boolean more, String error)
            throws RemoteStorageException {
        byte[][] out = new byte[2][];
        require("sending the remote segments", out,
                op -> transport.call(op, Messages.segments(wanted, segments, more, error), out));
    }

    /** Answers a question about states; each is answered once. */
    void states(long ticket, byte[] states, long end, int givenUp, String error) throws RemoteStorageException {
        byte[][] out = new byte[2][];
        require("sending the states of segments", out,
                op -> transport.call(op, Messages.states(ticket, states, end, givenUp, error), out));
    }

    /** {@code out[0]} is the schema as UTF-8 lines; the result is a {@link Status}. */
    int metricsSchema(byte[][] out) {
        return transport.metricsSchema(handle, out);
    }

    /** {@code out[0]} is the hash of the schema and the values. */
    int metrics(byte[][] out) {
        return transport.metrics(handle, out);
    }

    /** Refuses new calls, cancels those inside and waits for them within a bound. Safe to call twice. */
    void close() {
        if (!guard.close()) {
            return;
        }
        OPEN.remove(nodeId, this);
        transport.close(handle, CLOSE_DEADLINE_MS, new byte[2][]);
        try {
            guard.awaitIdle(CLOSE_DEADLINE_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void require(String what, byte[][] out, Operation.Call call) throws RemoteStorageException {
        int status = call(what, call);
        if (status != Status.OK) {
            throw Failure.of(status, out[1]).forOpen();
        }
    }

    private int call(String what, Operation.Call call) throws RemoteStorageException {
        enter();
        Operation operation = null;
        try {
            operation = new Operation(transport, handle);
            return operation.run(call);
        } catch (AsynchronousCloseException e) {
            throw Failure.interrupted(what + " was cancelled");
        } finally {
            if (operation != null) {
                operation.free();
            }
            guard.exit();
        }
    }

    private void enter() throws RemoteStorageException {
        if (!guard.enter()) {
            throw Failure.closed().forOpen();
        }
    }
}
