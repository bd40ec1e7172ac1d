package io.tidemark.kafka;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidemark.kafka.wire.SegmentsRequest;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

class FrameTest {
    /** Golden frames are written, instead of compared, into the folder that -Dupdate names. */
    private static final String UPDATE = System.getProperty("update");

    private static Map<String, Supplier<ByteBuffer>> messages() {
        Map<String, Object> properties = new LinkedHashMap<>();
        properties.put("storage", "file");
        properties.put("s3.secret", new Password("p\u00e4ssword"));
        properties.put("node.id", 5);
        Map<String, Supplier<ByteBuffer>> all = new LinkedHashMap<>();
        all.put("init", () -> Messages.init(2, 1L << 30, "/logs/crash.log", 64, 1 << 20, "0.1.0", 1));
        all.put("open", () -> Messages.open(5, properties, "4.0.2", "17.0.15", 30_000));
        all.put("copy", () -> Messages.copy(Samples.segment(), Samples.data(), 120_000));
        all.put("stream", () -> Messages.stream(Samples.segment(), (byte) 0, 10, -1, 30_000, 30_000, null));
        all.put("stream-next", () -> Messages.stream(Samples.segment(), (byte) 0, 10, -1, 30_000, 30_000,
                Samples.segment()));
        all.put("delete", () -> Messages.delete(Samples.segment(), 5_000));
        all.put("leadership", () -> Messages.leadership(List.of(Samples.PARTITION), List.of(), List.of()));
        all.put("facts", () -> Messages.facts(new Messages.Facts("c", "127.0.0.1:9092", "PLAINTEXT", "/d")));
        all.put("wanted", Messages::wanted);
        all.put("segments", () -> Messages.segments(Samples.WANTED, List.of(Samples.segment()), true, ""));
        return all;
    }

    @TestFactory
    List<DynamicTest> goldenBytes() {
        List<DynamicTest> tests = new ArrayList<>();
        messages().forEach((name, message) -> tests.add(DynamicTest.dynamicTest(name, () -> {
            byte[] got = bytes(message.get());
            if (UPDATE != null) {
                Files.write(Path.of(UPDATE, name + ".bin"), got);
                return;
            }
            try (InputStream in = FrameTest.class.getResourceAsStream("/frames/" + name + ".bin")) {
                assertNotNull(in, "no golden file for " + name);
                assertArrayEquals(in.readAllBytes(), got, "bytes of message " + name + " changed");
            }
        })));
        return tests;
    }

    @TestFactory
    List<DynamicTest> everyByteFlipIsNoticed() {
        List<DynamicTest> tests = new ArrayList<>();
        messages().forEach((name, message) -> tests.add(DynamicTest.dynamicTest(name, () -> {
            byte[] frame = bytes(message.get());
            int kind = frame[12];
            assertNotNull(Frame.payload(frame, kind));
            for (int i = 0; i < frame.length; i++) {
                byte[] damaged = frame.clone();
                damaged[i] ^= 0x10;
                assertNull(Frame.payload(damaged, kind), "flip of byte " + i + " of " + name);
            }
            assertNull(Frame.payload(java.util.Arrays.copyOf(frame, frame.length - 1), kind), "truncated");
            assertNull(Frame.payload(frame, kind + 1), "other kind");
        })));
        return tests;
    }

    @Test
    void aMessageTooLargeIsRefusedAndTheBuilderStaysUsable() {
        RemoteLogSegmentMetadata segment = Samples.segment();
        List<RemoteLogSegmentMetadata> many = java.util.Collections.nCopies(20_000, segment);
        assertThrows(Frame.MessageTooLarge.class, () -> Messages.segments(Samples.WANTED, many, false, ""));
        ByteBuffer frame = Messages.segments(Samples.WANTED, List.of(segment), false, "");
        assertNotNull(Frame.payload(bytes(frame), Frame.SEGMENTS));
    }

    @Test
    void segmentsSurviveTheWay() {
        List<RemoteLogSegmentMetadata> many = new ArrayList<>();
        for (int i = 0; i < 2_000; i++) {
            many.add(Samples.segment(i * 100L, RemoteLogSegmentState.COPY_SEGMENT_FINISHED));
        }
        byte[] frame = bytes(Messages.segments(Samples.WANTED, many, true, "why"));
        SegmentsRequest got = SegmentsRequest.getRootAsSegmentsRequest(Frame.payload(frame, Frame.SEGMENTS));
        assertEquals(2_000, got.segmentsLength());
        assertEquals("why", got.error());
        assertTrue(got.more());
        assertEquals(1000, got.partition().from());
        assertEquals("flights", got.segments(1999).topic());
        assertEquals(199_900, got.segments(1999).baseOffset());
        assertEquals(199_999, got.segments(1999).endOffset());
        assertEquals(0, got.segments(7).epochs(0).epoch());
        assertEquals(750, got.segments(7).epochs(1).start());
        assertEquals(3, got.segments(7).customLength());
        assertEquals(Samples.PARTITION.topicId().getMostSignificantBits(), got.partition().topicId().msb());
        assertTrue(got.segments(0).txnIndexEmpty());
    }

    @Test
    void theLeaderEpochBufferKeepsItsPosition() {
        var data = Samples.data();
        Messages.copy(Samples.segment(), data, 1);
        assertEquals(0, data.leaderEpochIndex().position());
    }

    static byte[] bytes(ByteBuffer frame) {
        byte[] out = new byte[frame.capacity()];
        frame.get(0, out);
        return out;
    }
}
