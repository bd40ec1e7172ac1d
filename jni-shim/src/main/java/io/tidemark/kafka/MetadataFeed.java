package io.tidemark.kafka;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells Go what only the metadata manager knows: leadership, facts of the broker, and the remote segments of the
 * partitions it asks for. Callbacks only note what changed; this thread does the talking, once a second or when woken.
 */
final class MetadataFeed implements Runnable {
    /** The metadata manager, as far as it is needed here. */
    interface Source {
        boolean isReady(TopicIdPartition partition);

        Iterator<RemoteLogSegmentMetadata> list(TopicIdPartition partition) throws RemoteStorageException;

        CompletableFuture<Void> update(RemoteLogSegmentMetadataUpdate update) throws RemoteStorageException;
    }

    private enum Role { LEADER, FOLLOWER, STOPPED }

    private static final Logger LOG = LoggerFactory.getLogger(MetadataFeed.class);
    private static final long EVERY_NANOS = 1_000_000_000L;
    private static final long JOIN_MS = 5_000;
    private static final int ALONE_TICKS = 60;
    private static final int PARTITIONS_PER_MESSAGE = 2_000;
    private static final int SEGMENTS_PER_MESSAGE = 1_000; // well below what a message holds

    private final int nodeId;
    private final Messages.Facts broker;
    private final Source source;
    private final Thread thread;

    private final Object lock = new Object();
    private final Map<TopicIdPartition, Role> roles = new HashMap<>(); // guarded by lock; levels, not edges
    private final Set<TopicIdPartition> unsent = new HashSet<>(); // guarded by lock

    private volatile boolean stopping;
    private volatile boolean woken;

    // Of the thread alone.
    private Instance told;
    private boolean factsSent;
    private String lastFault = "";
    private int ticksAlone;

    MetadataFeed(int nodeId, Messages.Facts broker, Source source) {
        this.nodeId = nodeId;
        this.broker = broker;
        this.source = source;
        this.thread = new Thread(this, "tidemark-metadata-" + nodeId);
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    /** Never blocks for longer than the thread copies a set. */
    void leadership(Collection<TopicIdPartition> leaders, Collection<TopicIdPartition> followers) {
        synchronized (lock) {
            leaders.forEach(p -> note(p, Role.LEADER));
            followers.forEach(p -> note(p, Role.FOLLOWER));
        }
        wake();
    }

    void stopped(Collection<TopicIdPartition> partitions) {
        synchronized (lock) {
            partitions.forEach(p -> note(p, Role.STOPPED));
        }
        wake();
    }

    private void note(TopicIdPartition partition, Role role) {
        roles.put(partition, role);
        unsent.add(partition);
    }

    /** Something changed that Go may want to hear of before the second is over. */
    void wake() {
        woken = true;
        LockSupport.unpark(thread);
    }

    /** Ends the thread, within a bound. */
    void stop() {
        stopping = true;
        thread.interrupt();
        try {
            thread.join(JOIN_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void run() {
        while (!stopping) {
            woken = false;
            try {
                tick();
                lastFault = "";
            } catch (Throwable t) {
                report(t);
            }
            if (!stopping && !woken) {
                LockSupport.parkNanos(this, EVERY_NANOS);
            }
        }
    }

    /** One line per fault, not one per second. */
    private void report(Throwable t) {
        String fault = t.toString();
        if (!stopping && !fault.equals(lastFault)) {
            LOG.warn("telling the native library about partitions failed, trying again: {}", fault);
        }
        lastFault = fault;
    }

    private void tick() throws RemoteStorageException {
        Instance instance = Instance.find(nodeId);
        if (instance == null) {
            if (++ticksAlone == ALONE_TICKS) {
                LOG.warn("no TidemarkRemoteStorageManager of node {} is open in this class loader, so no table can "
                        + "start: remote.log.storage.manager.class.name must name it and "
                        + "remote.log.storage.manager.class.path must be unset", nodeId);
            }
            return;
        }
        if (instance != told) { // opened first time or again: it knows nothing
            told = instance;
            factsSent = false;
            synchronized (lock) {
                unsent.addAll(roles.keySet());
            }
        }
        sendFacts(instance);
        sendLeadership(instance);
        Messages.AllWanted all = instance.wanted();
        for (Messages.Wanted wanted : all.lists()) {
            answer(instance, wanted);
        }
        for (Messages.WantedStates wanted : all.states()) {
            answer(instance, wanted);
        }
    }

    private void sendFacts(Instance instance) throws RemoteStorageException {
        if (!factsSent) { // at once: on a fresh cluster no partition is tiered, and tables must start all the same
            instance.facts(broker);
            factsSent = true;
        }
    }

    private void sendLeadership(Instance instance) throws RemoteStorageException {
        while (true) {
            Map<TopicIdPartition, Role> batch = new HashMap<>();
            synchronized (lock) {
                for (TopicIdPartition p : unsent) {
                    if (batch.size() == PARTITIONS_PER_MESSAGE) {
                        break;
                    }
                    batch.put(p, roles.get(p));
                }
            }
            if (batch.isEmpty()) {
                return;
            }
            Failure failure = instance.leadership(of(batch, Role.LEADER), of(batch, Role.FOLLOWER),
                    of(batch, Role.STOPPED));
            if (failure != null) {
                throw failure.forOpen();
            }
            synchronized (lock) {
                batch.forEach((p, role) -> {
                    if (roles.get(p) == role) { // else it changed meanwhile and goes out again
                        unsent.remove(p);
                        if (role == Role.STOPPED) {
                            roles.remove(p);
                        }
                    }
                });
            }
        }
    }

    private static List<TopicIdPartition> of(Map<TopicIdPartition, Role> batch, Role role) {
        List<TopicIdPartition> out = new ArrayList<>();
        batch.forEach((p, r) -> {
            if (r == role) {
                out.add(p);
            }
        });
        return out;
    }

    private void answer(Instance instance, Messages.Wanted wanted) throws RemoteStorageException {
        List<RemoteLogSegmentMetadata> segments = List.of();
        String error = "";
        try {
            if (source.isReady(wanted.partition())) {
                segments = collect(wanted);
            } else {
                // A list taken now could lack segments, and looks like a whole one.
                error = "the remote log metadata of the partition is not read yet";
            }
        } catch (RemoteStorageException | RuntimeException e) {
            error = e.toString();
        }
        int n = Math.min(segments.size(), SEGMENTS_PER_MESSAGE);
        while (true) {
            try {
                instance.segments(wanted, segments.subList(0, n), n < segments.size(), error);
                return;
            } catch (Frame.MessageTooLarge e) {
                if (n <= 1) {
                    instance.segments(wanted, List.of(), false, "a remote segment has more leader epochs than a message holds");
                    return;
                }
                n /= 2;
            }
        }
    }

    /** What is answered must hold: only a leader's metadata, read to its end, says that a segment does not exist. */
    private void answer(Instance instance, Messages.WantedStates wanted) throws RemoteStorageException {
        String error;
        synchronized (lock) {
            error = roles.get(wanted.partition()) == Role.LEADER ? "" : "this broker does not lead the partition";
        }
        SegmentStates.Answer answer = new SegmentStates.Answer(new byte[0], 0, 0);
        try {
            if (error.isEmpty() && !source.isReady(wanted.partition())) {
                error = "the remote log metadata of the partition is not read yet";
            }
            if (error.isEmpty()) {
                answer = SegmentStates.of(source, nodeId, wanted);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            error = "interrupted";
        } catch (Exception e) {
            error = e.toString();
        }
        instance.states(wanted.ticket(), answer.states(), answer.end(), answer.givenUp(), error);
    }

    /** The finished segments that do not end below what is wanted, by start offset. */
    private List<RemoteLogSegmentMetadata> collect(Messages.Wanted wanted) throws RemoteStorageException {
        List<RemoteLogSegmentMetadata> found = new ArrayList<>();
        Iterator<RemoteLogSegmentMetadata> all = source.list(wanted.partition());
        while (all.hasNext()) {
            RemoteLogSegmentMetadata segment = all.next();
            if (segment.state() == RemoteLogSegmentState.COPY_SEGMENT_FINISHED && segment.endOffset() >= wanted.from()) {
                found.add(segment);
            }
        }
        found.sort(Comparator.comparingLong(RemoteLogSegmentMetadata::startOffset));
        return found;
    }
}
