package io.tidemark.kafka;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;

/**
 * What the metadata manager says of segments that the sweep asks for. Giving up a copy is Kafka's own way of it: once
 * DELETE_SEGMENT_STARTED is published no late copy can finish the segment, and the leader's expiration deletes it.
 */
final class SegmentStates {
    private static final byte NOT_KNOWN = -1;
    private static final long GIVE_UP_WAIT_MS = 20_000;

    private SegmentStates() {
    }

    /** One answer; {@code states} as in the message. */
    record Answer(byte[] states, long end, int givenUp) {
    }

    static Answer of(MetadataFeed.Source source, int nodeId, Messages.WantedStates wanted) throws Exception {
        Map<Uuid, Integer> at = new HashMap<>();
        for (int i = 0; i < wanted.segments().size(); i++) {
            at.put(wanted.segments().get(i), i);
        }
        byte[] states = new byte[wanted.segments().size()];
        Arrays.fill(states, NOT_KNOWN);
        long end = 0;
        List<RemoteLogSegmentMetadata> abandoned = new ArrayList<>();
        Iterator<RemoteLogSegmentMetadata> all = source.list(wanted.partition());
        while (all.hasNext()) {
            RemoteLogSegmentMetadata segment = all.next();
            if (segment.state() == RemoteLogSegmentState.COPY_SEGMENT_FINISHED) {
                end = Math.max(end, segment.endOffset() + 1);
            }
            Integer i = at.get(segment.remoteLogSegmentId().id());
            if (i != null) {
                states[i] = segment.state().id();
                if (segment.state() == RemoteLogSegmentState.COPY_SEGMENT_STARTED) {
                    abandoned.add(segment);
                }
            }
        }
        return new Answer(states, end, wanted.giveUp() ? giveUp(source, nodeId, abandoned) : 0);
    }

    private static int giveUp(MetadataFeed.Source source, int nodeId, List<RemoteLogSegmentMetadata> segments)
            throws Exception {
        List<CompletableFuture<Void>> futures = new ArrayList<>();
        for (RemoteLogSegmentMetadata segment : segments) {
            futures.add(source.update(new RemoteLogSegmentMetadataUpdate(segment.remoteLogSegmentId(),
                    System.currentTimeMillis(), Optional.empty(), RemoteLogSegmentState.DELETE_SEGMENT_STARTED,
                    nodeId)));
        }
        CompletableFuture.allOf(futures.toArray(new CompletableFuture<?>[0]))
                .get(GIVE_UP_WAIT_MS, TimeUnit.MILLISECONDS);
        return segments.size();
    }
}
