package io.tidemark.kafka.conformance;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidemark.kafka.TidemarkRemoteStorageManager;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Streams of a segment as brokers use them: from any position, in pieces, at once, and never short. */
class SegmentStreamConformanceTest extends Fixture {
    private TidemarkRemoteStorageManager plugin;
    private SegmentFiles files;
    private RemoteLogSegmentMetadata m;

    @BeforeEach
    void copyOne() throws Exception {
        plugin = broker();
        files = files(7 * MIB / 2, true);
        m = copy(plugin, files, partition);
    }

    private byte[] from(int start, int end) {
        return Arrays.copyOfRange(files.bytes, start, end);
    }

    private static byte[] all(InputStream in) throws IOException {
        try (in) {
            return in.readAllBytes();
        }
    }

    /** Begins of batches, inside of batches and headers, around chunks, the last byte. */
    private List<Integer> positions() {
        int size = files.bytes.length;
        List<Integer> out = new ArrayList<>(List.of(0, 1, 16, 17, 60, 61, MIB - 1, MIB, MIB + 1, 2 * MIB - 1, 2 * MIB,
                3 * MIB, size - 2, size - 1));
        for (int i = 0; i < files.starts.size(); i += 9) {
            out.add(files.starts.get(i));
            out.add(Math.min(files.starts.get(i) + 100, size - 1));
        }
        return out;
    }

    @Test
    void streamBeginsAtItsPositionAndEndsWithTheSegment() throws Exception {
        for (int start : positions()) {
            assertArrayEquals(from(start, files.bytes.length), all(plugin.fetchLogSegment(m, start)), "from " + start);
        }
    }

    @Test
    void streamAtTheEndIsEmpty() throws Exception {
        assertEquals(0, all(plugin.fetchLogSegment(m, files.bytes.length)).length);
    }

    @Test
    void positionOutsideTheSegmentIsRefused() {
        failsWith(RemoteStorageException.class, () -> plugin.fetchLogSegment(m, files.bytes.length + 1));
        failsWith(RemoteStorageException.class, () -> plugin.fetchLogSegment(m, Integer.MAX_VALUE));
        failsWith(RemoteStorageException.class, () -> plugin.fetchLogSegment(m, -1));
        failsWith(RemoteStorageException.class, () -> plugin.fetchLogSegment(m, Integer.MIN_VALUE));
    }

    @Test
    void endPositionIsInclusive() throws Exception {
        int size = files.bytes.length;
        for (int start : positions()) {
            for (int end : new int[] {start, start + 1, start + 16, start + MIB - 1, start + 2 * MIB, size - 1}) {
                if (end >= start) {
                    assertArrayEquals(from(start, Math.min(end + 1, size)), all(plugin.fetchLogSegment(m, start, end)),
                            start + " to " + end);
                }
            }
        }
    }

    @Test
    void endPositionBeyondTheSegmentIsItsEnd() throws Exception {
        int size = files.bytes.length;
        for (int end : new int[] {size - 1, size, size + 1, Integer.MAX_VALUE}) {
            assertArrayEquals(from(size - 1_000, size), all(plugin.fetchLogSegment(m, size - 1_000, end)), "to " + end);
        }
    }

    @Test
    void endPositionBeforeTheStartIsRefused() {
        failsWith(RemoteStorageException.class, () -> plugin.fetchLogSegment(m, 100, 98));
        failsWith(RemoteStorageException.class, () -> plugin.fetchLogSegment(m, 0, -1));
        failsWith(RemoteStorageException.class, () -> plugin.fetchLogSegment(m, 0, -2));
        failsWith(RemoteStorageException.class, () -> plugin.fetchLogSegment(m, 5, Integer.MIN_VALUE));
    }

    /** What brokers do: the head of a batch, then the rest of it, then a big block, then close before the end. */
    @Test
    void headsOfBatchesThenABigBlock() throws Exception {
        for (int i = 0; i < files.starts.size(); i += 5) {
            int at = files.starts.get(i);
            try (InputStream in = plugin.fetchLogSegment(m, at)) {
                byte[] head = new byte[17];
                assertEquals(17, in.readNBytes(head, 0, 17));
                assertArrayEquals(from(at, at + 17), head);
                int length = ByteBuffer.wrap(head).getInt(8) + 12;
                byte[] body = new byte[length - 17];
                assertEquals(body.length, in.readNBytes(body, 0, body.length));
                assertArrayEquals(from(at + 17, at + length), body);
                int want = Math.min(MIB, files.bytes.length - at - length);
                assertArrayEquals(from(at + length, at + length + want), in.readNBytes(want));
            }
        }
    }

    /** With Kafka's own reader of remote segments, whose package depends on the version. */
    @Test
    void brokersReaderFindsEveryBatchValid() throws Exception {
        Class<?> reader;
        try {
            reader = Class.forName("org.apache.kafka.common.record.internal.RemoteLogInputStream");
        } catch (ClassNotFoundException before43) {
            reader = Class.forName("org.apache.kafka.common.record.RemoteLogInputStream");
        }
        Class<?> batchType = Class.forName(reader.getPackageName() + ".RecordBatch");
        try (InputStream in = plugin.fetchLogSegment(m, 0)) {
            Object batches = reader.getConstructor(InputStream.class).newInstance(in);
            long next = SegmentFiles.BASE;
            int count = 0;
            for (;;) {
                Object batch = reader.getMethod("nextBatch").invoke(batches);
                if (batch == null) {
                    break;
                }
                batchType.getMethod("ensureValid").invoke(batch); // checks the CRC
                assertEquals(next, batchType.getMethod("baseOffset").invoke(batch));
                next = (Long) batchType.getMethod("nextOffset").invoke(batch);
                count++;
            }
            assertEquals(files.starts.size(), count);
            assertEquals(files.endOffset + 1, next);
        }
    }

    @Test
    void oneByteAtATime() throws Exception {
        try (InputStream in = plugin.fetchLogSegment(m, MIB - 3)) {
            for (int i = MIB - 3; i < MIB + 300_000; i++) {
                if (in.read() != (files.bytes[i] & 0xff)) {
                    assertEquals(i, -1, "the byte at this position is another");
                }
            }
        }
    }

    @Test
    void skipMovesOverChunksAndStopsAtTheEnd() throws Exception {
        int size = files.bytes.length;
        try (InputStream in = plugin.fetchLogSegment(m, 10)) {
            assertEquals(0, in.skip(0));
            assertEquals(0, in.skip(-5));
            in.skipNBytes(2 * MIB);
            assertEquals(files.bytes[2 * MIB + 10] & 0xff, in.read());
            long skipped = 0;
            for (long n = in.skip(Long.MAX_VALUE); n > 0; n = in.skip(Long.MAX_VALUE)) {
                skipped += n;
            }
            assertEquals(size - (2 * MIB + 11), skipped);
            assertEquals(-1, in.read());
            assertEquals(-1, in.read(new byte[10], 0, 10));
            assertEquals(0, in.read(new byte[10], 0, 0));
        }
    }

    @Test
    void availableNeverPromisesTooMuch() throws Exception {
        try (InputStream in = plugin.fetchLogSegment(m, files.bytes.length - 5_000)) {
            for (int left = 5_000; left > 0; left--) {
                int available = in.available();
                assertTrue(available >= 0 && available <= left, available + " of " + left);
                if (available > 0) {
                    assertEquals(available, in.readNBytes(available).length);
                    left -= available;
                }
                if (left > 0) {
                    assertTrue(in.read() >= 0);
                }
            }
            assertEquals(0, in.available());
            assertEquals(-1, in.read());
        }
    }

    @Test
    void wrongArgumentsOfReadAreRefused() throws Exception {
        try (InputStream in = plugin.fetchLogSegment(m, 0)) {
            byte[] into = new byte[10];
            assertThrows(IndexOutOfBoundsException.class, () -> in.read(into, 5, 6));
            assertThrows(IndexOutOfBoundsException.class, () -> in.read(into, -1, 2));
            assertThrows(NullPointerException.class, () -> in.read(null, 0, 1));
            assertArrayEquals(from(0, 100), in.readNBytes(100)); // it is as it was
        }
    }

    @Test
    void closedStreamFailsAndClosesTwice() throws Exception {
        InputStream in = plugin.fetchLogSegment(m, 0);
        assertEquals(100, in.readNBytes(100).length);
        in.close();
        assertThrows(IOException.class, in::read);
        assertThrows(IOException.class, () -> in.read(new byte[10], 0, 10));
        assertThrows(IOException.class, () -> in.skip(5));
        assertThrows(IOException.class, in::available);
        in.close();
        InputStream unread = plugin.fetchLogSegment(m, 0);
        unread.close();
        unread.close();
        assertThrows(IOException.class, unread::read);
    }

    /** More than there are buffers: a stream that nobody reads must not stop others. */
    @Test
    void manyOpenStreamsDoNotDisturbEachOther() throws Exception {
        List<InputStream> open = new ArrayList<>();
        for (int i = 0; i < 400; i++) {
            open.add(plugin.fetchLogSegment(m, i * 1_000));
        }
        assertArrayEquals(files.bytes, all(plugin.fetchLogSegment(m, 0)));
        for (int i = 0; i < 400; i++) {
            assertArrayEquals(from(i * 1_000, i * 1_000 + 500), open.get(i).readNBytes(500), "stream " + i);
            open.get(i).close();
        }
    }

    @Test
    void manyReadersAtOnceReadTheSame() throws Exception {
        SegmentFiles second = files(2 * MIB, false);
        RemoteLogSegmentMetadata n = copy(plugin, second, partition);
        TidemarkRemoteStorageManager cold = broker();
        ExecutorService readers = Executors.newFixedThreadPool(16);
        try {
            List<Future<?>> results = new ArrayList<>();
            for (int i = 0; i < 64; i++) {
                SegmentFiles f = i % 2 == 0 ? files : second;
                RemoteLogSegmentMetadata s = i % 2 == 0 ? m : n;
                Random random = new Random(i);
                results.add(readers.submit(() -> {
                    int start = random.nextInt(f.bytes.length);
                    int end = start + random.nextInt(f.bytes.length - start);
                    byte[] got = all(cold.fetchLogSegment(s, start, end));
                    assertArrayEquals(Arrays.copyOfRange(f.bytes, start, end + 1), got);
                    return null;
                }));
            }
            for (Future<?> result : results) {
                result.get();
            }
        } finally {
            readers.shutdownNow();
        }
    }

    /** As with an interrupted reader thread of a broker; an empty stream would be taken for a gap in the log. */
    @Test
    void interruptedReadFailsAndIsNeverShort() throws Exception {
        TidemarkRemoteStorageManager cold = broker();
        InputStream in = cold.fetchLogSegment(m, 0);
        Thread.currentThread().interrupt();
        byte[] got = new byte[files.bytes.length];
        try {
            assertThrows(IOException.class, () -> in.readNBytes(got, 0, got.length));
            assertTrue(Thread.currentThread().isInterrupted(), "the thread must know that it was interrupted");
        } finally {
            Thread.interrupted();
        }
        in.close();
        assertFalse(Thread.currentThread().isInterrupted());
        assertArrayEquals(files.bytes, all(cold.fetchLogSegment(m, 0)));
    }

    /** A close by another thread ends a read soon, with an exception or with bytes that are right. */
    @Test
    void closeFromAnotherThreadIsSafe() throws Exception {
        ExecutorService reader = Executors.newSingleThreadExecutor();
        try {
            for (int i = 0; i < 50; i++) {
                InputStream in = plugin.fetchLogSegment(m, 0);
                Future<Integer> read = reader.submit(() -> {
                    byte[] block = new byte[4_096];
                    int at = 0;
                    try {
                        for (int n = in.read(block); n >= 0; n = in.read(block)) {
                            assertArrayEquals(from(at, at + n), Arrays.copyOf(block, n), "at " + at);
                            at += n;
                        }
                    } catch (IOException closed) {
                        return at;
                    }
                    assertEquals(files.bytes.length, at, "a short stream");
                    return at;
                });
                in.close();
                read.get();
            }
        } finally {
            reader.shutdownNow();
        }
    }
}
