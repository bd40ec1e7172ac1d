package io.tidemark.kafka.conformance;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.tidemark.kafka.TidemarkRemoteStorageManager;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteResourceNotFoundException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager.IndexType;
import org.junit.jupiter.api.Test;

/** What fails does so with the exceptions that brokers know, and never as fewer bytes. */
class StorageFaultsConformanceTest extends Fixture {
    /** A copy that must be refused, with the exception after which every broker cleans up, and leave nothing. */
    private void refuses(TidemarkRemoteStorageManager plugin, SegmentFiles files) throws Exception {
        RemoteLogSegmentMetadata m = files.attempt(partition);
        RemoteStorageException e =
                failsWith(RemoteStorageException.class, () -> plugin.copyLogSegmentData(m, files.data()));
        assertNotNull(e.getMessage());
        failsWith(RemoteResourceNotFoundException.class, () -> plugin.fetchLogSegment(m, 0));
        eventually("nothing is left of the attempt", () -> objects(m).isEmpty());
    }

    @Test
    void missingFileFailsTheCopy() throws Exception {
        TidemarkRemoteStorageManager plugin = broker();
        SegmentFiles files = files(MIB + 100, true);
        for (Path path : List.of(files.log, files.offsetIndex, files.timeIndex, files.snapshot, files.txnIndex)) {
            Path away = path.resolveSibling("away");
            Files.move(path, away);
            refuses(plugin, files);
            Files.move(away, path);
        }
        Path other = files.dir.resolveSibling("orders-3.gone-delete"); // as when the topic is deleted meanwhile
        Files.move(files.dir, other);
        refuses(plugin, files);
        Files.move(other, files.dir);
        copy(plugin, files, partition);
    }

    @Test
    void directoryInPlaceOfAFileFailsTheCopy() throws Exception {
        TidemarkRemoteStorageManager plugin = broker();
        SegmentFiles files = files(1_000, false);
        Files.delete(files.timeIndex);
        Files.createDirectory(files.timeIndex);
        refuses(plugin, files);
    }

    @Test
    void damagedLogIsNotCopied() throws Exception {
        TidemarkRemoteStorageManager plugin = broker();
        SegmentFiles files = files(3 * MIB / 2, false);
        int middle = files.starts.get(files.starts.size() / 2);
        int last = files.starts.get(files.starts.size() - 1);
        for (int at : new int[] {8, 16, 17, 22, 70, middle + 40, last + 61, files.bytes.length - 1}) {
            byte[] damaged = files.bytes.clone();
            damaged[at] ^= 0x10;
            Files.write(files.log, damaged);
            refuses(plugin, files);
        }
        Files.write(files.log, Arrays.copyOf(files.bytes, files.bytes.length - 1));
        refuses(plugin, files);
        Files.write(files.log, new byte[0]);
        refuses(plugin, files);
        Files.write(files.log, files.bytes);
        copy(plugin, files, partition);
    }

    /** Stores a segment, changes one of its objects and reads with a broker that has nothing of it in memory. */
    private void readsNeverShort(int size, boolean log, UnaryOperator<byte[]> change) throws Exception {
        TidemarkRemoteStorageManager plugin = broker();
        SegmentFiles files = files(size, true);
        RemoteLogSegmentMetadata m = copy(plugin, files, partition);
        Path object = object(m, log);
        byte[] changed = change.apply(Files.readAllBytes(object));
        Files.delete(object);
        if (changed != null) {
            Files.write(object, changed);
        }
        TidemarkRemoteStorageManager cold = broker();
        if (!log) {
            for (IndexType type : IndexType.values()) {
                assertThrows(RemoteStorageException.class, () -> cold.fetchIndex(m, type), type.toString());
            }
        }
        byte[] got = new byte[files.bytes.length];
        int n = 0;
        try (InputStream in = cold.fetchLogSegment(m, 0)) {
            for (int r = in.read(got, 0, 4_096); r >= 0; r = in.read(got, n, Math.min(4_096, got.length - n))) {
                n += r;
                if (n == got.length) {
                    break;
                }
            }
            fail("the stream ended after " + n + " bytes of " + got.length + " without an exception");
        } catch (IOException e) {
            assertTrue(log, "the stream should not have been opened");
        } catch (RemoteStorageException e) {
            assertEquals(0, n);
        }
        assertArrayEquals(Arrays.copyOf(files.bytes, n), Arrays.copyOf(got, n), "bytes before the exception");
    }

    @Test
    void truncatedLogObjectFailsTheRead() throws Exception {
        readsNeverShort(5 * MIB / 2, true, b -> Arrays.copyOf(b, b.length - 1));
        readsNeverShort(5 * MIB / 2, true, b -> Arrays.copyOf(b, MIB));
        readsNeverShort(5 * MIB / 2, true, b -> Arrays.copyOf(b, MIB + 7));
        readsNeverShort(5 * MIB / 2, true, b -> new byte[0]);
    }

    @Test
    void flippedLogObjectFailsTheRead() throws Exception {
        for (int at : new int[] {0, 17, MIB - 1, MIB, 2 * MIB + 5}) {
            readsNeverShort(5 * MIB / 2, true, b -> flip(b, at));
        }
        readsNeverShort(5_000, true, b -> flip(b, b.length - 1));
    }

    @Test
    void absentLogObjectFailsTheRead() throws Exception {
        readsNeverShort(5_000, true, b -> null);
    }

    @Test
    void damagedOrAbsentSidecarFailsEveryRead() throws Exception {
        readsNeverShort(50_000, false, b -> flip(b, 0));
        readsNeverShort(50_000, false, b -> flip(b, b.length / 2));
        readsNeverShort(50_000, false, b -> flip(b, b.length - 1));
        readsNeverShort(50_000, false, b -> Arrays.copyOf(b, b.length - 1));
        readsNeverShort(50_000, false, b -> new byte[0]);
        readsNeverShort(50_000, false, b -> null);
    }

    private static byte[] flip(byte[] b, int at) {
        b[at] ^= 0x40;
        return b;
    }

    /** One failed stream must not spoil the parts that are intact. */
    @Test
    void intactPartsStayReadable() throws Exception {
        SegmentFiles files = files(5 * MIB / 2, false);
        RemoteLogSegmentMetadata m = copy(broker(), files, partition);
        Path object = object(m, true);
        Files.write(object, flip(Files.readAllBytes(object), MIB + 100));
        TidemarkRemoteStorageManager cold = broker();
        try (InputStream in = cold.fetchLogSegment(m, 0)) {
            int before = MIB - 256 * 1024; // a buffer of this size may reach into the damage
            assertArrayEquals(Arrays.copyOf(files.bytes, before), in.readNBytes(before));
            assertThrows(IOException.class, () -> in.readNBytes(MIB));
            assertThrows(IOException.class, in::read); // for good
        }
        try (InputStream in = cold.fetchLogSegment(m, 2 * MIB)) {
            assertArrayEquals(Arrays.copyOfRange(files.bytes, 2 * MIB, files.bytes.length), in.readAllBytes());
        }
    }

    @Test
    void interruptPendingBeforeTheCopyEndsIt() throws Exception {
        TidemarkRemoteStorageManager plugin = broker();
        SegmentFiles files = files(MIB, false);
        RemoteLogSegmentMetadata m = files.attempt(partition);
        Thread.currentThread().interrupt();
        try {
            failsWith(RemoteStorageException.class, () -> plugin.copyLogSegmentData(m, files.data()));
            assertTrue(Thread.currentThread().isInterrupted(), "the thread must know that it was interrupted");
        } finally {
            Thread.interrupted();
        }
        failsWith(RemoteResourceNotFoundException.class, () -> plugin.fetchLogSegment(m, 0));
        eventually("nothing is left of the attempt", () -> objects(m).isEmpty());
        copy(plugin, files, partition);
    }

    /** Whenever the interrupt comes: each copy either succeeded whole or failed and left nothing. */
    @Test
    void interruptDuringCopiesEndsThem() throws Exception {
        TidemarkRemoteStorageManager plugin = broker();
        SegmentFiles files = files(12 * MIB, false);
        for (int round = 0; round < 4; round++) {
            List<RemoteLogSegmentMetadata> good = new ArrayList<>();
            AtomicReference<RemoteLogSegmentMetadata> bad = new AtomicReference<>();
            AtomicReference<Throwable> thrown = new AtomicReference<>();
            AtomicBoolean flag = new AtomicBoolean();
            CountDownLatch begun = new CountDownLatch(round);
            Thread copier = new Thread(() -> {
                try {
                    for (int i = 0; i < 500; i++) {
                        RemoteLogSegmentMetadata m = files.attempt(partition);
                        bad.set(m);
                        begun.countDown();
                        plugin.copyLogSegmentData(m, files.data());
                        good.add(m);
                    }
                } catch (Throwable t) {
                    thrown.set(t);
                    flag.set(Thread.currentThread().isInterrupted());
                }
            });
            copier.start();
            assertTrue(begun.await(60, TimeUnit.SECONDS));
            copier.interrupt();
            copier.join(30_000);
            assertTrue(!copier.isAlive(), "the copy goes on after the interrupt");
            assertNotNull(thrown.get(), "the interrupt was lost");
            assertEquals(RemoteStorageException.class, thrown.get().getClass(), () -> "class of " + thrown.get());
            assertTrue(flag.get(), "the thread must know that it was interrupted");
            eventually("nothing is left of the attempt", () -> objects(bad.get()).isEmpty());
            for (RemoteLogSegmentMetadata m : good) {
                try (InputStream in = plugin.fetchLogSegment(m, files.bytes.length - 100)) {
                    assertEquals(100, in.readAllBytes().length);
                }
                plugin.deleteLogSegmentData(m);
            }
        }
    }

    @Test
    void everyMethodFailsAfterClose() throws Exception {
        TidemarkRemoteStorageManager plugin = broker();
        SegmentFiles files = files(2 * MIB, true);
        RemoteLogSegmentMetadata m = copy(plugin, files, partition);
        InputStream unread = plugin.fetchLogSegment(m, 0);
        InputStream half = plugin.fetchLogSegment(m, 0);
        assertEquals(1_000, half.readNBytes(1_000).length);
        plugin.close();
        plugin.close();
        allFail(plugin, files, m);
        for (InputStream in : List.of(unread, half)) {
            assertThrows(IOException.class, in::read);
            assertThrows(IOException.class, () -> in.read(new byte[100], 0, 100));
            assertThrows(IOException.class, () -> in.skip(10));
            in.close();
            in.close();
            assertThrows(IOException.class, in::read);
        }
    }

    private static void allFail(TidemarkRemoteStorageManager plugin, SegmentFiles files, RemoteLogSegmentMetadata m) {
        failsWith(RemoteStorageException.class, () -> plugin.copyLogSegmentData(m, files.data()));
        failsWith(RemoteStorageException.class, () -> plugin.fetchLogSegment(m, 0));
        failsWith(RemoteStorageException.class, () -> plugin.fetchLogSegment(m, 0, 5));
        for (IndexType type : IndexType.values()) {
            failsWith(RemoteStorageException.class, () -> plugin.fetchIndex(m, type));
        }
        failsWith(RemoteStorageException.class, () -> plugin.deleteLogSegmentData(m));
    }

    @Test
    void everyMethodFailsBeforeConfigure() throws Exception {
        TidemarkRemoteStorageManager plugin = new TidemarkRemoteStorageManager();
        SegmentFiles files = files(1_000, false);
        allFail(plugin, files, files.attempt(partition));
        plugin.close();
    }

    /** Kafka 4.0 and 4.1 close the plugin while threads are still in it. */
    @Test
    void closeUnderLoadEndsEveryThread() throws Exception {
        SegmentFiles files = files(3 * MIB, true);
        for (int round = 0; round < 3; round++) {
            TidemarkRemoteStorageManager plugin = broker();
            RemoteLogSegmentMetadata m = copy(plugin, files, partition);
            CountDownLatch running = new CountDownLatch(6);
            List<Throwable> wrong = Collections.synchronizedList(new ArrayList<>());
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                boolean reads = i % 2 == 0;
                Thread t = new Thread(() -> {
                    try {
                        running.countDown();
                        for (int n = 0; n < 10_000; n++) {
                            if (reads) {
                                try (InputStream in = plugin.fetchLogSegment(m, 0)) {
                                    assertEquals(files.bytes.length, in.readAllBytes().length);
                                }
                            } else {
                                copy(plugin, files, partition);
                            }
                        }
                        wrong.add(new AssertionError("the close was never noticed"));
                    } catch (RemoteStorageException | IOException closed) {
                        return;
                    } catch (Throwable t1) {
                        wrong.add(t1);
                    }
                });
                t.start();
                threads.add(t);
            }
            assertTrue(running.await(60, TimeUnit.SECONDS));
            plugin.close();
            for (Thread t : threads) {
                t.join(30_000);
                assertTrue(!t.isAlive(), "a thread is still inside after the close");
            }
            assertEquals(List.of(), wrong);
        }
    }

    @Test
    void wrongConfigurationIsOneErrorThatNamesAll() {
        Map<String, Object> properties = properties();
        properties.remove("local.dir");
        properties.remove("store.path");
        properties.put("no.such.key", "1");
        properties.put("segment.chunk.bytes", "many");
        ConfigException e = failsWith(ConfigException.class, () -> new TidemarkRemoteStorageManager().configure(properties));
        for (String key : List.of("local.dir", "store.path", "no.such.key", "segment.chunk.bytes")) {
            assertTrue(e.getMessage().contains(key), key + " is not named: " + e.getMessage());
        }
    }

    @Test
    void configurationWithoutANodeIsRefused() {
        Map<String, Object> properties = new HashMap<>(properties());
        properties.remove("broker.id");
        failsWith(ConfigException.class, () -> new TidemarkRemoteStorageManager().configure(properties));
        properties.put("broker.id", "first");
        failsWith(ConfigException.class, () -> new TidemarkRemoteStorageManager().configure(properties));
    }

    /** A broker that failed to start and is started again, in one JVM. */
    @Test
    void pluginStartsAfterAnotherWasRefused() throws Exception {
        Map<String, Object> properties = properties();
        properties.put("no.such.key", "1");
        TidemarkRemoteStorageManager refused = new TidemarkRemoteStorageManager();
        failsWith(ConfigException.class, () -> refused.configure(properties));
        refused.close();
        properties.remove("no.such.key");
        TidemarkRemoteStorageManager plugin = new TidemarkRemoteStorageManager();
        plugin.configure(properties);
        SegmentFiles files = files(1_000, false);
        RemoteLogSegmentMetadata m = copy(plugin, files, partition);
        plugin.close();
        TidemarkRemoteStorageManager again = new TidemarkRemoteStorageManager();
        again.configure(properties); // the same node and local.dir
        try (InputStream in = again.fetchLogSegment(m, 0)) {
            assertArrayEquals(files.bytes, in.readAllBytes());
        }
        again.close();
    }
}
