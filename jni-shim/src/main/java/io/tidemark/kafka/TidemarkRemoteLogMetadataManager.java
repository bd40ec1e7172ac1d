package io.tidemark.kafka;

import java.io.IOException;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * {@code remote.log.metadata.manager.class.name}: Kafka's own metadata manager, which also tells Tidemark of
 * leadership and of segments. The callbacks run on the broker's metadata thread under a lock: they never wait and
 * never throw because of us. {@code onBrokerReady} of Kafka 4.2 is inherited and must not be overridden, since the
 * class that this is compiled against has no such method to call.
 */
public final class TidemarkRemoteLogMetadataManager extends TopicBasedRemoteLogMetadataManager {
    private static final Logger LOG = LoggerFactory.getLogger(TidemarkRemoteLogMetadataManager.class);

    private final Successors.Lookup lookup = this::remoteLogSegmentMetadata;
    private volatile MetadataFeed feed;
    private volatile int nodeId;

    /** Made by the broker. */
    public TidemarkRemoteLogMetadataManager() {
    }

    @Override
    public void configure(Map<String, ?> configs) {
        if (PluginProperties.hasOwnLoader(getClass())) {
            throw new ConfigException("remote.log.metadata.manager.class.path must be unset and the jar of Tidemark in "
                    + "libs/: through a class path of its own Kafka would never start this metadata manager");
        }
        super.configure(PluginProperties.withTimeouts(configs));
        MetadataFeed started = new MetadataFeed(PluginProperties.nodeId(configs), PluginProperties.facts(configs),
                new MetadataFeed.Source() {
                    @Override
                    public boolean isReady(TopicIdPartition partition) {
                        return TidemarkRemoteLogMetadataManager.this.isReady(partition);
                    }

                    @Override
                    public Iterator<RemoteLogSegmentMetadata> list(TopicIdPartition partition)
                            throws RemoteStorageException {
                        return listRemoteLogSegments(partition);
                    }

                    @Override
                    public CompletableFuture<Void> update(RemoteLogSegmentMetadataUpdate update)
                            throws RemoteStorageException {
                        return updateRemoteLogSegmentMetadata(update);
                    }
                });
        started.start();
        feed = started;
        nodeId = PluginProperties.nodeId(configs);
        Successors.register(nodeId, lookup);
    }

    @Override
    public CompletableFuture<Void> updateRemoteLogSegmentMetadata(RemoteLogSegmentMetadataUpdate update)
            throws RemoteStorageException {
        CompletableFuture<Void> future = super.updateRemoteLogSegmentMetadata(update);
        MetadataFeed to = feed;
        if (to != null && update.state() == RemoteLogSegmentState.COPY_SEGMENT_FINISHED) {
            future.whenComplete((done, failed) -> to.wake());
        }
        return future;
    }

    @Override
    public void onPartitionLeadershipChanges(Set<TopicIdPartition> leaders, Set<TopicIdPartition> followers) {
        super.onPartitionLeadershipChanges(leaders, followers);
        try {
            if (feed != null) {
                feed.leadership(leaders, followers);
            }
        } catch (Throwable t) {
            LOG.error("a leadership change was not passed on to Tidemark", t);
        }
    }

    @Override
    public void onStopPartitions(Set<TopicIdPartition> partitions) {
        super.onStopPartitions(partitions);
        try {
            if (feed != null) {
                feed.stopped(partitions);
            }
        } catch (Throwable t) {
            LOG.error("stopped partitions were not passed on to Tidemark", t);
        }
    }

    @Override
    public void close() throws IOException {
        Successors.remove(nodeId, lookup);
        try {
            if (feed != null) {
                feed.stop();
            }
        } catch (Throwable t) {
            LOG.warn("stopping the metadata feed of Tidemark failed", t);
        }
        super.close();
    }
}
