package io.tidemark.kafka.conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.fail;

import io.tidemark.kafka.TidemarkRemoteStorageManager;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Plugins as brokers configure them, over one file store per test. */
abstract class Fixture {
    static final int MIB = 1 << 20;

    /** Node ids are never used twice in a JVM: each is a broker of its own. */
    private static final AtomicInteger NODES = new AtomicInteger(100);

    @TempDir
    Path temp;

    private final List<TidemarkRemoteStorageManager> open = new ArrayList<>();
    final TopicIdPartition partition = new TopicIdPartition(Uuid.randomUuid(), 3, "orders");

    Map<String, Object> properties() {
        int node = NODES.incrementAndGet();
        Map<String, Object> properties = new HashMap<>();
        properties.put("store.type", "file");
        properties.put("store.path", store().toString());
        properties.put("local.dir", temp.resolve("local-" + node).toString());
        properties.put("tables.enabled", "false");
        properties.put("broker.id", node);
        return properties;
    }

    Path store() {
        return temp.toAbsolutePath().resolve("store");
    }

    /** A broker of its own; closed at the end of the test. */
    TidemarkRemoteStorageManager broker() {
        TidemarkRemoteStorageManager plugin = new TidemarkRemoteStorageManager();
        plugin.configure(properties());
        open.add(plugin);
        return plugin;
    }

    @AfterEach
    void closeAll() {
        open.forEach(TidemarkRemoteStorageManager::close);
    }

    SegmentFiles files(int size, boolean aborted) throws IOException {
        return SegmentFiles.write(Files.createTempDirectory(temp, "orders-3."), size, aborted);
    }

    static RemoteLogSegmentMetadata copy(TidemarkRemoteStorageManager plugin, SegmentFiles files, TopicIdPartition to)
            throws RemoteStorageException {
        RemoteLogSegmentMetadata attempt = files.attempt(to);
        return SegmentFiles.finished(attempt, plugin.copyLogSegmentData(attempt, files.data()));
    }

    /** The call fails with exactly this class: brokers treat subclasses otherwise. */
    static <T extends Exception> T failsWith(Class<T> type, Executable call) {
        T e = assertThrows(type, call);
        assertEquals(type, e.getClass(), "class of " + e);
        return e;
    }

    /** The log object or the sidecar of a segment, by the end of its name. */
    Path object(RemoteLogSegmentMetadata m, boolean log) throws IOException {
        return objects(m).stream().filter(p -> p.toString().endsWith(".log") == log).findFirst()
                .orElseThrow(() -> new AssertionError("no such object of " + m));
    }

    List<Path> objects(RemoteLogSegmentMetadata m) throws IOException {
        List<Path> found = new ArrayList<>();
        String id = m.remoteLogSegmentId().id().toString();
        Files.walkFileTree(store(), new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                if (file.getFileName().toString().contains(id)) {
                    found.add(file);
                }
                return FileVisitResult.CONTINUE;
            }

            /** Objects are removed meanwhile. */
            @Override
            public FileVisitResult visitFileFailed(Path file, IOException e) throws IOException {
                if (e instanceof NoSuchFileException && !file.equals(store())) {
                    return FileVisitResult.CONTINUE;
                }
                throw e;
            }
        });
        return found;
    }

    /** Waits for what the plugin may do after its call returned. */
    static void eventually(String what, Callable<Boolean> condition) throws Exception {
        long end = System.nanoTime() + 60_000_000_000L;
        while (!condition.call()) {
            if (System.nanoTime() > end) {
                fail("not within a minute: " + what);
            }
            Thread.sleep(20);
        }
    }
}
