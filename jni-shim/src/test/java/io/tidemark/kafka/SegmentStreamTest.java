package io.tidemark.kafka;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class SegmentStreamTest {
    private final FakeTransport go = new FakeTransport();
    private final Instance instance = Instance.open(go, 910, Map.of(), "4.0.2");

    @AfterEach
    void close() {
        Thread.interrupted();
        instance.close();
    }

    private InputStream open(int size, long total) throws Exception {
        go.content = new byte[size];
        new Random(size).nextBytes(go.content);
        go.total = total;
        return instance.segment(Samples.segment(), 0, -1);
    }

    @Test
    void readsOfAnySizeGiveTheSameBytes() throws Exception {
        for (int size : new int[] {0, 1, 15, 16, 17, 1000}) {
            for (int step : new int[] {1, 3, 17, 64, 2000}) {
                try (InputStream in = open(size, size)) {
                    byte[] got = new byte[size];
                    int n = 0;
                    for (int r = in.read(got, 0, Math.min(step, size)); r > 0 && n < size;
                            r = in.read(got, n, Math.min(step, size - n))) {
                        n += r;
                    }
                    assertEquals(size, n, "size " + size + " step " + step);
                    assertArrayEquals(go.content, got, "size " + size + " step " + step);
                    assertEquals(-1, in.read());
                    assertEquals(-1, in.read(new byte[4]));
                    assertEquals(0, in.available());
                }
            }
        }
        assertEquals(30, go.closedStreams.size());
        assertEquals(30, go.freed.size());
    }

    @Test
    void skipCrossesRanges() throws Exception {
        try (InputStream in = open(100, 100)) {
            assertEquals(0, in.skip(-5));
            assertEquals(50, in.skip(50));
            assertEquals(go.content[50] & 0xff, in.read());
            assertEquals(49, in.skip(1000), "only what is left");
            assertEquals(-1, in.read());
        }
    }

    @Test
    void aShortStreamIsAnErrorAndStaysOne() throws Exception {
        try (InputStream in = open(40, 50)) {
            assertEquals(40, in.readNBytes(40).length);
            IOException e = assertThrows(IOException.class, in::read);
            assertTrue(e.getMessage().contains("ended 10 bytes early"), e.getMessage());
            assertThrows(IOException.class, in::read);
        }
    }

    @Test
    void bytesOutsideOfASlabOrOverTheTotalAreRefused() throws Exception {
        long[][] lies = {{2, 0, 1}, {-1, 0, 1}, {0, -1, 1}, {0, 60, 5}, {0, 0, 65}, {0, 0, -1}, {1, 0, 33},
            {0, Long.MAX_VALUE, 2}};
        for (long[] lie : lies) {
            go.lieAboutNext = lie;
            try (InputStream in = open(32, 32)) {
                assertThrows(IOException.class, in::read, Arrays.toString(lie));
            }
        }
    }

    @Test
    void aFailureNamesItsClass() throws Exception {
        go.failNextAfter = 1;
        go.status = Status.CORRUPT;
        go.message = "chunk 3 of x";
        try (InputStream in = open(32, 32)) {
            assertEquals(16, in.readNBytes(16).length);
            assertEquals("Corrupt: chunk 3 of x", assertThrows(IOException.class, in::read).getMessage());
            assertEquals("Corrupt: chunk 3 of x", assertThrows(IOException.class, in::read).getMessage());
        }
    }

    @Test
    void anInterruptedReadIsAnInterruptedIoException() throws Exception {
        InputStream in = open(32, 32);
        go.block = new CountDownLatch(1);
        Thread.currentThread().interrupt();
        IOException e = assertThrows(IOException.class, in::read);
        assertInstanceOf(InterruptedIOException.class, e);
        assertInstanceOf(InterruptedException.class, e.getCause());
        assertTrue(Thread.interrupted(), "the flag is kept");
        in.close();
    }

    @Test
    void closeFromAnotherThreadEndsAWaitingRead() throws Exception {
        InputStream in = open(32, 32);
        go.block = new CountDownLatch(1);
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread reader = new Thread(() -> {
            try {
                in.read();
            } catch (Throwable t) {
                thrown.set(t);
            }
        });
        reader.start();
        go.blocked.await();
        in.close();
        reader.join(10_000);
        assertFalse(reader.isAlive());
        assertInstanceOf(IOException.class, thrown.get());
        assertEquals(1, go.closedStreams.size());
    }

    @Test
    void afterCloseNothingIsReadAndCloseIsIdempotent() throws Exception {
        InputStream in = open(32, 32);
        assertEquals(go.content[0] & 0xff, in.read());
        in.close();
        in.close();
        assertThrows(IOException.class, in::read);
        assertThrows(IOException.class, in::available);
        assertThrows(IOException.class, () -> in.skip(1));
        assertEquals(1, go.closedStreams.size());
        assertEquals(1, go.freed.size());
    }

    @Test
    void aClosedInstanceEndsItsStreams() throws Exception {
        InputStream in = open(32, 32);
        assertEquals(go.content[0] & 0xff, in.read());
        instance.close();
        IOException e = assertThrows(IOException.class, in::read);
        assertTrue(e.getMessage().startsWith("Closed: "), e.getMessage());
        in.close();
    }

    @Test
    void aForgottenStreamIsGivenBackAndCounted() throws Exception {
        long before = SegmentStream.leaked();
        open(32, 32);
        long deadline = System.nanoTime() + 20_000_000_000L;
        while (go.closedStreams.isEmpty() && System.nanoTime() < deadline) {
            System.gc();
            Thread.onSpinWait();
        }
        assertEquals(1, go.closedStreams.size(), "the stream was not given back");
        assertEquals(before + 1, SegmentStream.leaked());
    }
}
