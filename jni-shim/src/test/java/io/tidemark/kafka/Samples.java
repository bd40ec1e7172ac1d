package io.tidemark.kafka;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;

/** Kafka objects for tests. */
final class Samples {
    static final TopicIdPartition PARTITION =
            new TopicIdPartition(new Uuid(0x0123456789abcdefL, 0xfedcba9876543210L), 3, "flights");

    static final Messages.Wanted WANTED = new Messages.Wanted(PARTITION, 1000);

    private Samples() {
    }

    static RemoteLogSegmentMetadata segment(long base, RemoteLogSegmentState state) {
        return new RemoteLogSegmentMetadata(new RemoteLogSegmentId(PARTITION, new Uuid(1, base + 2)), base, base + 99,
                1_700_000_000_000L, 2, 1_700_000_000_001L, 4096,
                Optional.of(new CustomMetadata(new byte[] {1, 2, 3})), state, Map.of(0, base, 4, base + 50), true);
    }

    static RemoteLogSegmentMetadata segment() {
        return segment(1000, RemoteLogSegmentState.COPY_SEGMENT_FINISHED);
    }

    static LogSegmentData data() {
        return new LogSegmentData(Path.of("/d/flights-3/1000.log"), Path.of("/d/flights-3/1000.index"),
                Path.of("/d/flights-3/1000.timeindex"), Optional.empty(), Path.of("/d/flights-3/1100.snapshot"),
                ByteBuffer.wrap("0\n2\n0 0\n4 1050\n".getBytes(StandardCharsets.US_ASCII)));
    }
}
