import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.server.log.remote.metadata.storage.RemoteLogMetadataTopicPartitioner;
import org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager;
import org.apache.kafka.server.log.remote.metadata.storage.serialization.RemoteLogMetadataSerde;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager;

/**
 * What a broker does with its list of remote segments when it starts. "fill" writes the metadata of segments as a broker would; "load" makes a metadata
 * manager read them and prints how many milliseconds of CPU time that took.
 */
public final class Segments {
    private static final int METADATA_PARTITIONS = 4;

    private Segments() {
    }

    /** fill|load, bootstrap servers, topic id, partitions, segments of each; load: classes of both plugins, "-" for none, and a directory. */
    public static void main(String[] args) throws Exception {
        List<TopicIdPartition> partitions = new ArrayList<>();
        for (int p = 0; p < Integer.parseInt(args[3]); p++) {
            partitions.add(new TopicIdPartition(Uuid.fromString(args[2]), new TopicPartition("listed", p)));
        }
        int each = Integer.parseInt(args[4]);
        if (args[0].equals("fill")) {
            fill(args[1], partitions, each);
        } else {
            System.out.println("loaded " + load(args, partitions, each));
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    private static void fill(String bootstrap, List<TopicIdPartition> partitions, int each) {
        RemoteLogMetadataSerde serde = new RemoteLogMetadataSerde();
        RemoteLogMetadataTopicPartitioner partitioner = new RemoteLogMetadataTopicPartitioner(METADATA_PARTITIONS);
        Map<String, Object> config = Map.of("bootstrap.servers", bootstrap, "acks", "all", "linger.ms", "5");
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (int i = 0; i < each; i++) {
                for (TopicIdPartition p : partitions) {
                    RemoteLogSegmentId id = new RemoteLogSegmentId(p, Uuid.randomUuid());
                    long now = System.currentTimeMillis();
                    RemoteLogSegmentMetadata started = new RemoteLogSegmentMetadata(id, i * 100L, i * 100L + 99, now, 1, now,
                            1 << 20, Map.of(0, i * 100L));
                    RemoteLogSegmentMetadataUpdate finished = new RemoteLogSegmentMetadataUpdate(id, now, Optional.empty(),
                            RemoteLogSegmentState.COPY_SEGMENT_FINISHED, 1);
                    int to = partitioner.metadataPartition(p);
                    producer.send(new ProducerRecord<>("__remote_log_metadata", to, null, serde.serialize(started)));
                    producer.send(new ProducerRecord<>("__remote_log_metadata", to, null, serde.serialize(finished)));
                }
            }
        }
    }

    private static long load(String[] args, List<TopicIdPartition> partitions, int each) throws Exception {
        Path dir = Path.of(args[7]);
        if (!args[5].equals("-")) { // the broker configures this one first
            RemoteStorageManager storage = (RemoteStorageManager) Class.forName(args[5]).getConstructor().newInstance();
            storage.configure(Map.of("broker.id", 1, "store.type", "file", "store.path", dir.resolve("store").toString(),
                    "local.dir", dir.resolve("local").toString()));
        }
        Map<String, Object> config = new HashMap<>();
        config.put("remote.log.metadata.common.client.bootstrap.servers", args[1]);
        config.put("remote.log.metadata.topic.num.partitions", METADATA_PARTITIONS);
        config.put("remote.log.metadata.topic.replication.factor", (short) 1);
        config.put("broker.id", 1);
        config.put("node.id", 1);
        config.put("cluster.id", "none");
        config.put("log.dir", Files.createDirectories(dir.resolve("log")).toString());
        TopicBasedRemoteLogMetadataManager manager =
                (TopicBasedRemoteLogMetadataManager) Class.forName(args[6]).getConstructor().newInstance();
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long from = system.getProcessCpuTime();
        manager.configure(config);
        try { // Kafka 4.2
            manager.getClass().getMethod("onBrokerReady").invoke(manager);
        } catch (NoSuchMethodException e) {
            System.err.println("no onBrokerReady");
        }
        Set<TopicIdPartition> waiting = new HashSet<>(partitions);
        manager.onPartitionLeadershipChanges(new HashSet<>(partitions), Set.of());
        long last = System.nanoTime() + 120_000_000_000L;
        while (!waiting.isEmpty() && System.nanoTime() < last) {
            waiting.removeIf(manager::isReady);
            Thread.sleep(20);
        }
        long took = (system.getProcessCpuTime() - from) / 1_000_000;
        for (TopicIdPartition p : partitions) {
            int n = 0;
            for (Iterator<RemoteLogSegmentMetadata> it = manager.listRemoteLogSegments(p); it.hasNext(); it.next()) {
                n++;
            }
            if (n != each) {
                throw new IllegalStateException(p + " has " + n + " segments instead of " + each);
            }
        }
        return took;
    }
}
