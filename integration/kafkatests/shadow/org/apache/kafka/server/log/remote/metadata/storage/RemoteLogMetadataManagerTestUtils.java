package org.apache.kafka.server.log.remote.metadata.storage;

import io.tidemark.kafka.TidemarkRemoteLogMetadataManager;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.kafka.test.TestUtils;

/**
 * Builds Tidemark's metadata manager for Kafka's own tests of theirs; stands before Kafka's class of this name. The tests
 * hand in parts that only constructors of Kafka's package take, so they are put into the fields of the superclass.
 */
public class RemoteLogMetadataManagerTestUtils {
    private static final int PARTITIONS = 3;
    private static final short REPLICAS = 2;
    private static final long RETENTION_MS = 24 * 60 * 60 * 1000L;

    public static Builder builder() {
        return new Builder();
    }

    /** As the tests use it on Kafka 4.0 to 4.3. */
    public static class Builder {
        private String bootstrapServers;
        private boolean startConsumerThread = true;
        private Map<String, Object> overrides = Map.of();
        private Supplier<RemotePartitionMetadataStore> store;
        private Function<Integer, RemoteLogMetadataTopicPartitioner> partitioner;

        private Builder() {
        }

        public Builder bootstrapServers(String servers) {
            bootstrapServers = Objects.requireNonNull(servers);
            return this;
        }

        public Builder startConsumerThread(boolean start) {
            startConsumerThread = start;
            return this;
        }

        public Builder remotePartitionMetadataStore(Supplier<RemotePartitionMetadataStore> given) {
            store = given;
            return this;
        }

        public Builder remoteLogMetadataTopicPartitioner(Function<Integer, RemoteLogMetadataTopicPartitioner> given) {
            partitioner = Objects.requireNonNull(given);
            return this;
        }

        public Builder overrideRemoteLogMetadataManagerProps(Map<String, Object> given) {
            overrides = Objects.requireNonNull(given);
            return this;
        }

        public TopicBasedRemoteLogMetadataManager build() {
            TopicBasedRemoteLogMetadataManager manager = new TidemarkRemoteLogMetadataManager();
            try {
                for (Field field : TopicBasedRemoteLogMetadataManager.class.getDeclaredFields()) {
                    field.setAccessible(true);
                    if (field.getType() == Supplier.class && store != null) {
                        field.set(manager, store);
                    } else if (field.getType() == RemotePartitionMetadataStore.class && store != null) {
                        field.set(manager, store.get()); // Kafka 4.2 and later
                    } else if (field.getType() == Function.class && partitioner != null) {
                        field.set(manager, partitioner);
                    } else if (field.getName().equals("startConsumerThread")) {
                        field.set(manager, startConsumerThread);
                    }
                }
                Map<String, Object> configs = new HashMap<>();
                configs.put("remote.log.metadata.common.client.bootstrap.servers",
                        Objects.requireNonNull(bootstrapServers));
                configs.put("broker.id", 0);
                configs.put("log.dir", TestUtils.tempDirectory("rlmm_segs_").getAbsolutePath());
                configs.put("remote.log.metadata.topic.num.partitions", PARTITIONS);
                configs.put("remote.log.metadata.topic.replication.factor", REPLICAS);
                configs.put("remote.log.metadata.topic.retention.ms", RETENTION_MS);
                configs.putAll(overrides);
                manager.configure(configs);
                for (Method method : TopicBasedRemoteLogMetadataManager.class.getMethods()) {
                    if (method.getName().equals("onBrokerReady")) { // Kafka 4.2 and later
                        method.invoke(manager);
                    }
                }
                TestUtils.waitForCondition(manager::isInitialized, 60_000L, "not initialized within a minute");
                return manager;
            } catch (ReflectiveOperationException | InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }
}
