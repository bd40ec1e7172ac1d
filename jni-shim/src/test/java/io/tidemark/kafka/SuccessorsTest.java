package io.tidemark.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.junit.jupiter.api.Test;

class SuccessorsTest {
    private static final int NODE = 4711;

    private static RemoteLogSegmentMetadata segment(long start, long end) {
        return new RemoteLogSegmentMetadata(new RemoteLogSegmentId(Samples.PARTITION, new Uuid(1, start)), start, end,
                1, 1, 1, 100, Map.of(3, 0L, 5, 10L));
    }

    @Test
    void isWhatTheMetadataManagerOfTheNodeSays() {
        RemoteLogSegmentMetadata first = segment(0, 99);
        RemoteLogSegmentMetadata next = segment(100, 199);
        assertNull(Successors.of(NODE, first), "nobody to ask");
        Successors.Lookup lookup = (partition, epoch, offset) -> {
            assertEquals(Samples.PARTITION, partition);
            assertEquals(5, epoch);
            return offset == 100 ? Optional.of(next) : offset == 200 ? Optional.of(next) : Optional.empty();
        };
        Successors.register(NODE, lookup);
        try {
            assertSame(next, Successors.of(NODE, first));
            assertNull(Successors.of(NODE, next), "a segment does not come after itself");
            assertNull(Successors.of(NODE, segment(500, 600)), "not there yet");
            Successors.Lookup other = (partition, epoch, offset) -> {
                throw new IllegalStateException("closing");
            };
            Successors.remove(NODE, other);
            assertSame(next, Successors.of(NODE, first), "only the one that was registered is removed");
            Successors.register(NODE, other);
            assertNull(Successors.of(NODE, first), "a failure is no answer");
            Successors.remove(NODE, other);
        } finally {
            Successors.remove(NODE, lookup);
        }
        assertNull(Successors.of(NODE, first));
    }
}
