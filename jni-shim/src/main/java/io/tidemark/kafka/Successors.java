package io.tidemark.kafka;

import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;

/**
 * Which segment comes after a segment, as the metadata manager of the same broker knows it. Kafka does not tell the
 * storage manager; with the answer a consumer's reading runs on into the next segment without a pause. No answer is a
 * right answer: it is asked in the broker's memory, on the thread that reads.
 */
final class Successors {
    private static final Map<Integer, Lookup> BY_NODE = new ConcurrentHashMap<>();

    private Successors() {
    }

    /** The metadata of the segment that holds an offset of an epoch. */
    interface Lookup {
        Optional<RemoteLogSegmentMetadata> find(TopicIdPartition partition, int epoch, long offset)
                throws RemoteStorageException;
    }

    static void register(int nodeId, Lookup lookup) {
        BY_NODE.put(nodeId, lookup);
    }

    static void remove(int nodeId, Lookup lookup) {
        BY_NODE.remove(nodeId, lookup);
    }

    /** The segment after another, or null: not known, not there yet, or of a later epoch. */
    static RemoteLogSegmentMetadata of(int nodeId, RemoteLogSegmentMetadata segment) {
        Lookup lookup = BY_NODE.get(nodeId);
        NavigableMap<Integer, Long> epochs = segment.segmentLeaderEpochs();
        if (lookup == null || epochs.isEmpty()) {
            return null;
        }
        try {
            return lookup.find(segment.topicIdPartition(), epochs.lastKey(), segment.endOffset() + 1)
                    .filter(next -> next.endOffset() > segment.endOffset())
                    .orElse(null);
        } catch (Throwable t) {
            return null; // not loaded yet, or closing
        }
    }
}
