package org.apache.kafka.server.log.remote.storage;

import io.tidemark.kafka.TidemarkRemoteStorageManager;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.server.log.remote.storage.LocalTieredStorageEvent.EventType;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;

/**
 * Tidemark's plugin under the name that Kafka's own tests ask for. It stands before Kafka's class of this name on the
 * class path of the tests. Everything that a broker reads comes from Tidemark; a copy of what is stored is kept in the
 * directory layout that the tests look at, and every call of the broker is one event, as the tests count them.
 */
public final class LocalTieredStorage implements RemoteStorageManager {
    public static final String STORAGE_CONFIG_PREFIX = "remote.log.storage.local."; // Kafka 4.0
    public static final String STORAGE_DIR_CONFIG = "dir";
    public static final String DELETE_ON_CLOSE_CONFIG = "delete.on.close";
    public static final String TRANSFERER_CLASS_CONFIG = "transferer.class";
    public static final String ENABLE_DELETE_API_CONFIG = "delete.enable";
    public static final String BROKER_ID = "broker.id";

    private static final String ROOT = "kafka-tiered-storage";

    private final TidemarkRemoteStorageManager tidemark = new TidemarkRemoteStorageManager();
    private final LocalTieredStorageListener.LocalTieredStorageListeners listeners =
            new LocalTieredStorageListener.LocalTieredStorageListeners();
    private final LocalTieredStorageHistory history = new LocalTieredStorageHistory();
    private final AtomicInteger clock = new AtomicInteger(-1);

    private volatile File mirror;
    private volatile File own;
    private volatile boolean deleteOnClose;
    private volatile boolean deleteEnabled = true;
    private volatile Transferer transferer = new Copying();
    private volatile int brokerId = -1;

    public LocalTieredStorage() {
        history.listenTo(this);
    }

    @Override
    public void configure(Map<String, ?> configs) {
        if (mirror != null) {
            throw new org.apache.kafka.common.KafkaException("configured twice");
        }
        String dir = (String) configs.get(STORAGE_DIR_CONFIG);
        deleteOnClose = flag(configs, DELETE_ON_CLOSE_CONFIG, false);
        deleteEnabled = flag(configs, ENABLE_DELETE_API_CONFIG, true);
        Object id = configs.get(BROKER_ID);
        if (id != null) {
            brokerId = Integer.parseInt(id.toString());
        }
        try {
            String transfererClass = (String) configs.get(TRANSFERER_CLASS_CONFIG);
            if (transfererClass != null) {
                transferer = (Transferer) getClass().getClassLoader().loadClass(transfererClass)
                        .getDeclaredConstructor().newInstance();
            }
            File root = dir == null ? Files.createTempDirectory(ROOT).toFile() : new File(dir);
            mirror = new File(root, ROOT);
            if (!mirror.isDirectory() && !mirror.mkdirs() && !mirror.isDirectory()) {
                throw new IOException("cannot make " + mirror);
            }
            // Shared by the brokers of a test, as a bucket is; beside the mirror, which the tests list.
            Path store = Path.of(System.getProperty("tidemark.tests.dir", System.getProperty("java.io.tmpdir")),
                    "store-" + UUID.nameUUIDFromBytes(mirror.getAbsolutePath().getBytes()));
            own = store.resolveSibling("local-" + UUID.randomUUID()).toFile();
            Map<String, Object> properties = new HashMap<>();
            properties.put("store.type", "file");
            properties.put("store.path", store.toAbsolutePath().toString());
            properties.put("local.dir", own.getAbsolutePath());
            properties.put("tables.enabled", "false");
            properties.put(BROKER_ID, Math.max(brokerId, 0));
            tidemark.configure(properties);
        } catch (ReflectiveOperationException | IOException e) {
            throw new org.apache.kafka.common.KafkaException(e);
        }
    }

    private static boolean flag(Map<String, ?> configs, String key, boolean otherwise) {
        Object value = configs.get(key);
        return value == null ? otherwise : Boolean.parseBoolean(value.toString());
    }

    public void traverse(LocalTieredStorageTraverser traverser) {
        File[] partitions = mirror.listFiles(File::isDirectory);
        if (partitions == null) {
            return;
        }
        for (File partition : partitions) {
            RemoteTopicPartitionDirectory.openExistingTopicPartitionDirectory(partition.getName(), mirror)
                    .traverse(traverser);
        }
    }

    public void addListener(LocalTieredStorageListener listener) {
        listeners.add(listener);
    }

    public LocalTieredStorageHistory getHistory() {
        return history;
    }

    public int brokerId() {
        return brokerId;
    }

    String getStorageDirectoryRoot() {
        return mirror.getAbsolutePath();
    }

    @Override
    public Optional<CustomMetadata> copyLogSegmentData(RemoteLogSegmentMetadata metadata, LogSegmentData data)
            throws RemoteStorageException {
        return told(EventType.COPY_SEGMENT, metadata, builder -> builder, builder -> {
            RemoteLogSegmentFileset files = RemoteLogSegmentFileset.openFileset(mirror, metadata);
            builder.withFileset(files);
            try {
                files.copy(transferer, new LogSegmentData(data.logSegment(), data.offsetIndex(), data.timeIndex(),
                        data.transactionIndex(), data.producerSnapshotIndex(), data.leaderEpochIndex().duplicate()));
                return tidemark.copyLogSegmentData(metadata, data);
            } catch (Exception e) {
                files.delete();
                throw e;
            }
        });
    }

    @Override
    public InputStream fetchLogSegment(RemoteLogSegmentMetadata metadata, int start) throws RemoteStorageException {
        return told(EventType.FETCH_SEGMENT, metadata, builder -> builder.withStartPosition(start), builder -> {
            builder.withFileset(RemoteLogSegmentFileset.openFileset(mirror, metadata));
            return tidemark.fetchLogSegment(metadata, start);
        });
    }

    @Override
    public InputStream fetchLogSegment(RemoteLogSegmentMetadata metadata, int start, int end)
            throws RemoteStorageException {
        return told(EventType.FETCH_SEGMENT, metadata,
                builder -> builder.withStartPosition(start).withEndPosition(end), builder -> {
                    builder.withFileset(RemoteLogSegmentFileset.openFileset(mirror, metadata));
                    return tidemark.fetchLogSegment(metadata, start, end);
                });
    }

    @Override
    public InputStream fetchIndex(RemoteLogSegmentMetadata metadata, IndexType type) throws RemoteStorageException {
        return told(eventOf(type), metadata, builder -> builder, builder -> {
            builder.withFileset(RemoteLogSegmentFileset.openFileset(mirror, metadata));
            return tidemark.fetchIndex(metadata, type);
        });
    }

    private static EventType eventOf(IndexType type) {
        switch (type) {
            case OFFSET:
                return EventType.FETCH_OFFSET_INDEX;
            case TIMESTAMP:
                return EventType.FETCH_TIME_INDEX;
            case PRODUCER_SNAPSHOT:
                return EventType.FETCH_PRODUCER_SNAPSHOT;
            case TRANSACTION:
                return EventType.FETCH_TRANSACTION_INDEX;
            default:
                return EventType.FETCH_LEADER_EPOCH_CHECKPOINT;
        }
    }

    @Override
    public void deleteLogSegmentData(RemoteLogSegmentMetadata metadata) throws RemoteStorageException {
        told(EventType.DELETE_SEGMENT, metadata, builder -> builder, builder -> {
            if (deleteEnabled) {
                RemoteLogSegmentFileset files = RemoteLogSegmentFileset.openFileset(mirror, metadata);
                tidemark.deleteLogSegmentData(metadata);
                if (!files.delete()) {
                    throw new RemoteStorageException("the mirror of " + metadata + " could not be deleted");
                }
                builder.withFileset(files);
            }
            return null;
        });
    }

    public void deletePartition(TopicIdPartition partition) throws RemoteStorageException {
        RemoteTopicPartitionDirectory directory =
                RemoteTopicPartitionDirectory.openTopicPartitionDirectory(partition, mirror);
        if (!directory.delete()) {
            throw new RemoteStorageException("the mirror of " + partition + " could not be deleted");
        }
    }

    @Override
    public void close() {
        tidemark.close();
        if (own != null) {
            deleteTree(own);
        }
        if (deleteOnClose && mirror != null) {
            deleteTree(mirror);
        }
    }

    public void clear() {
        File[] partitions = mirror.listFiles();
        if (partitions != null) {
            for (File partition : partitions) {
                deleteTree(partition);
            }
        }
    }

    private static void deleteTree(File file) {
        File[] below = file.listFiles();
        if (below != null) {
            for (File each : below) {
                deleteTree(each);
            }
        }
        file.delete();
    }

    /** What a call does; the builder takes what the event is to say. */
    private interface Call<T> {
        T run(LocalTieredStorageEvent.Builder builder) throws Exception;
    }

    /** Runs a call and tells the listeners of it, whatever its outcome. */
    private <T> T told(EventType type, RemoteLogSegmentMetadata metadata,
            UnaryOperator<LocalTieredStorageEvent.Builder> details, Call<T> call) throws RemoteStorageException {
        LocalTieredStorageEvent.Builder builder = details.apply(LocalTieredStorageEvent.newBuilder(brokerId, type,
                clock.incrementAndGet(), metadata.remoteLogSegmentId()).withMetadata(metadata));
        try {
            T result = call.run(builder);
            listeners.onStorageEvent(builder.build());
            return result;
        } catch (RemoteStorageException e) {
            listeners.onStorageEvent(builder.withException(e).build());
            throw e;
        } catch (Exception e) {
            listeners.onStorageEvent(builder.withException(e).build());
            throw new RemoteStorageException(e.getMessage(), e);
        }
    }

    /** The transferer that just copies. */
    private static final class Copying implements Transferer {
        @Override
        public void transfer(File from, File to) throws IOException {
            if (from.exists()) {
                Files.copy(from.toPath(), to.toPath());
            }
        }

        @Override
        public void transfer(java.nio.ByteBuffer from, File to) throws IOException {
            byte[] bytes = new byte[from.remaining()];
            from.duplicate().get(bytes);
            Files.write(to.toPath(), bytes);
        }
    }
}
