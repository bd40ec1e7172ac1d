package io.tidemark.kafka;

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * {@code remote.log.storage.manager.class.name} on every supported Kafka. Every method lets only Kafka's own exceptions
 * out: an Error that leaves a copy would end the tiering of its partition without a word.
 *
 * <p>Its metrics are MBeans in the domain {@code tidemark}. From Kafka 4.1 on,
 * {@code io.tidemark.kafka.TidemarkMonitorableRemoteStorageManager} may be named instead, which shows them as metrics of
 * the broker too; it cannot be loaded by Kafka 4.0.
 */
public class TidemarkRemoteStorageManager implements RemoteStorageManager {
    private static final Logger LOG = LoggerFactory.getLogger(TidemarkRemoteStorageManager.class);

    private volatile Instance instance;
    private MetricsBridge metrics;

    /** Made by the broker. */
    public TidemarkRemoteStorageManager() {
    }

    @Override
    public final synchronized void configure(Map<String, ?> configs) {
        try {
            if (PluginProperties.hasOwnLoader(getClass())) {
                LOG.warn("remote.log.storage.manager.class.path is set: tiering works, but tables need it unset and "
                        + "the jar in libs/");
            }
            Transport transport = NativeLibrary.transport(configs);
            instance = Instance.open(transport, PluginProperties.nodeId(configs), configs,
                    PluginProperties.kafkaVersion());
            metrics = new MetricsBridge(instance);
            metrics.start();
        } catch (ConfigException e) {
            throw e;
        } catch (Throwable t) {
            ConfigException e = new ConfigException("Tidemark could not start: " + t);
            e.initCause(t);
            throw e;
        }
    }

    @Override
    public final Optional<CustomMetadata> copyLogSegmentData(RemoteLogSegmentMetadata metadata, LogSegmentData data)
            throws RemoteStorageException {
        try {
            byte[] custom = open().copy(metadata, data);
            return custom.length == 0 ? Optional.empty() : Optional.of(new CustomMetadata(custom));
        } catch (Throwable t) {
            throw checked("copying", metadata, t);
        }
    }

    @Override
    public final InputStream fetchLogSegment(RemoteLogSegmentMetadata metadata, int startPosition)
            throws RemoteStorageException {
        try {
            return open().segment(metadata, startPosition, -1);
        } catch (Throwable t) {
            throw checked("opening", metadata, t);
        }
    }

    @Override
    public final InputStream fetchLogSegment(RemoteLogSegmentMetadata metadata, int startPosition, int endPosition)
            throws RemoteStorageException {
        try {
            if (endPosition < startPosition) { // below, a negative end means the end of the segment
                throw new RemoteStorageException("Invalid: end position " + endPosition + " is before start position "
                        + startPosition);
            }
            return open().segment(metadata, startPosition, (long) endPosition + 1); // Kafka's end is inclusive
        } catch (Throwable t) {
            throw checked("opening", metadata, t);
        }
    }

    @Override
    public final InputStream fetchIndex(RemoteLogSegmentMetadata metadata, IndexType type) throws RemoteStorageException {
        try {
            return new ByteArrayInputStream(open().index(metadata, type));
        } catch (Throwable t) {
            throw checked("reading an index of", metadata, t);
        }
    }

    @Override
    public final void deleteLogSegmentData(RemoteLogSegmentMetadata metadata) throws RemoteStorageException {
        try {
            open().delete(metadata);
        } catch (Throwable t) {
            throw checked("deleting", metadata, t);
        }
    }

    @Override
    public final synchronized void close() {
        try {
            if (metrics != null) {
                metrics.stop();
                metrics = null;
            }
            if (instance != null) {
                instance.close(); // stays set: late callers are told that it is closed
                LogBridge.drain();
            }
        } catch (Throwable t) {
            LOG.warn("closing Tidemark failed", t);
        }
    }

    /** Shows the metrics in one more place, from now to {@link #close}. */
    final synchronized void show(MetricsSink sink) {
        if (metrics != null) {
            metrics.attach(sink);
        }
    }

    private Instance open() throws RemoteStorageException {
        Instance open = instance;
        if (open == null) {
            throw new RemoteStorageException("Closed: the remote storage manager is not configured");
        }
        return open;
    }

    private static RemoteStorageException checked(String what, RemoteLogSegmentMetadata metadata, Throwable t) {
        if (t instanceof RemoteStorageException e) {
            return e;
        }
        return new RemoteStorageException("Internal: " + what + " " + metadata.remoteLogSegmentId() + " failed", t);
    }
}
