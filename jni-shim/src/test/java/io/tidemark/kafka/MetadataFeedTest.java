package io.tidemark.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidemark.kafka.flatbuffers.FlatBufferBuilder;
import io.tidemark.kafka.wire.FactsRequest;
import io.tidemark.kafka.wire.LeadershipRequest;
import io.tidemark.kafka.wire.SegmentsRequest;
import io.tidemark.kafka.wire.StatesRequest;
import io.tidemark.kafka.wire.StatesWanted;
import io.tidemark.kafka.wire.TopicPartition;
import io.tidemark.kafka.wire.Uuid;
import io.tidemark.kafka.wire.WantedReply;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.junit.jupiter.api.Test;

class MetadataFeedTest {
    private static final Messages.Facts BROKER = new Messages.Facts("c", "h:1", "PLAINTEXT", "/d");

    private static final class Go extends FakeTransport {
        final List<String> heard = Collections.synchronizedList(new ArrayList<>());
        final AtomicBoolean wants = new AtomicBoolean();
        final AtomicBoolean asks = new AtomicBoolean();
        volatile boolean giveUp;
        volatile List<Long> segmentIds = List.of(); // low halves
        volatile long from;
        volatile List<Long> bases = List.of(); // of the last list

        @Override
        public int leadership(long instance, ByteBuffer request, byte[][] out) {
            LeadershipRequest r = LeadershipRequest.getRootAsLeadershipRequest(
                    Frame.payload(FrameTest.bytes(request), Frame.LEADERSHIP));
            heard.add("lead " + r.leadersLength() + " follow " + r.followersLength() + " stop " + r.stoppedLength());
            return Status.OK;
        }

        @Override
        public int call(long operation, ByteBuffer request, byte[][] out) {
            byte[] frame = FrameTest.bytes(request);
            switch (request.getShort(12)) {
                case Frame.FACTS:
                    FactsRequest f = FactsRequest.getRootAsFactsRequest(Frame.payload(frame, Frame.FACTS));
                    heard.add("facts " + f.clusterId() + " " + f.bootstrap());
                    return Status.OK;
                case Frame.WANTED:
                    out[0] = wantedReply(wants.getAndSet(false), asks.getAndSet(false));
                    return Status.OK;
                case Frame.STATES:
                    StatesRequest a = StatesRequest.getRootAsStatesRequest(Frame.payload(frame, Frame.STATES));
                    StringBuilder states = new StringBuilder();
                    for (int i = 0; i < a.statesLength(); i++) {
                        states.append(' ').append(a.states(i));
                    }
                    heard.add("states of " + a.ticket() + states + " end " + a.end() + " given up " + a.givenUp()
                            + " " + a.error());
                    return Status.OK;
                default:
                    SegmentsRequest s =
                            SegmentsRequest.getRootAsSegmentsRequest(Frame.payload(frame, Frame.SEGMENTS));
                    List<Long> got = new ArrayList<>();
                    for (int i = 0; i < s.segmentsLength(); i++) {
                        got.add(s.segments(i).baseOffset());
                    }
                    bases = got;
                    heard.add("segments " + s.segmentsLength() + (s.more() ? " and more" : "") + " from "
                            + s.partition().from() + " " + s.error());
                    return Status.OK;
            }
        }

        private byte[] wantedReply(boolean list, boolean states) {
            FlatBufferBuilder b = new FlatBufferBuilder(1024);
            int vector = WantedReply.createPartitionsVector(b, list ? new int[] {partition(b)} : new int[0]);
            int asked = WantedReply.createStatesVector(b, states ? new int[] {question(b)} : new int[0]);
            return FrameTest.bytes(Frame.finish(b, WantedReply.createWantedReply(b, vector, asked),
                    Frame.WANTED_REPLY));
        }

        private int partition(FlatBufferBuilder b) {
            int topic = b.createString("flights");
            TopicPartition.startTopicPartition(b);
            TopicPartition.addTopicId(b, Uuid.createUuid(b,
                    Samples.PARTITION.topicId().getMostSignificantBits(),
                    Samples.PARTITION.topicId().getLeastSignificantBits()));
            TopicPartition.addTopic(b, topic);
            TopicPartition.addPartition(b, 3);
            TopicPartition.addFrom(b, from);
            return TopicPartition.endTopicPartition(b);
        }

        private int question(FlatBufferBuilder b) {
            StatesWanted.startSegmentsVector(b, segmentIds.size());
            for (int i = segmentIds.size() - 1; i >= 0; i--) {
                Uuid.createUuid(b, 1, segmentIds.get(i));
            }
            int ids = b.endVector();
            return StatesWanted.createStatesWanted(b, partition(b), 9, ids, giveUp);
        }
    }

    private static final class Source implements MetadataFeed.Source {
        volatile boolean ready;
        volatile RemoteStorageException failure;
        final List<RemoteLogSegmentMetadataUpdate> updates = Collections.synchronizedList(new ArrayList<>());
        volatile CompletableFuture<Void> updated = CompletableFuture.completedFuture(null);
        volatile List<RemoteLogSegmentMetadata> segments =
                List.of(Samples.segment(0, RemoteLogSegmentState.COPY_SEGMENT_FINISHED),
                        Samples.segment(100, RemoteLogSegmentState.COPY_SEGMENT_STARTED),
                        Samples.segment(200, RemoteLogSegmentState.DELETE_SEGMENT_STARTED));

        @Override
        public boolean isReady(TopicIdPartition partition) {
            return ready && partition.equals(Samples.PARTITION);
        }

        @Override
        public Iterator<RemoteLogSegmentMetadata> list(TopicIdPartition partition) throws RemoteStorageException {
            if (failure != null) {
                throw failure;
            }
            return segments.iterator();
        }

        @Override
        public CompletableFuture<Void> update(RemoteLogSegmentMetadataUpdate update) {
            updates.add(update);
            return updated;
        }
    }

    /** Absence is told only by a leader whose metadata is read; only copies that never ended are given up. */
    @Test
    void statesAreToldByALeaderOnly() throws Exception {
        Source source = new Source();
        MetadataFeed feed = new MetadataFeed(946, BROKER, source);
        Go go = new Go();
        go.segmentIds = List.of(2L, 102L, 202L, 77L);
        Instance instance = Instance.open(go, 946, Map.of(), "");
        feed.start();
        go.asks.set(true);
        feed.wake();
        await(() -> go.heard.contains("states of 9 end 0 given up 0 this broker does not lead the partition"));
        feed.leadership(Set.of(Samples.PARTITION), Set.of());
        go.asks.set(true);
        feed.wake();
        await(() -> go.heard.stream().anyMatch(h -> h.startsWith("states of 9 end 0 ") && h.endsWith("not read yet")));
        source.ready = true;
        go.asks.set(true);
        feed.wake();
        await(() -> go.heard.contains("states of 9 1 0 2 -1 end 100 given up 0 "));
        assertEquals(List.of(), source.updates);

        go.giveUp = true;
        go.asks.set(true);
        feed.wake();
        await(() -> go.heard.contains("states of 9 1 0 2 -1 end 100 given up 1 "));
        assertEquals(1, source.updates.size());
        RemoteLogSegmentMetadataUpdate update = source.updates.get(0);
        assertEquals(RemoteLogSegmentState.DELETE_SEGMENT_STARTED, update.state());
        assertEquals(102L, update.remoteLogSegmentId().id().getLeastSignificantBits());
        assertEquals(946, update.brokerId());

        source.updated = CompletableFuture.failedFuture(new RemoteStorageException("refused"));
        go.asks.set(true);
        feed.wake();
        await(() -> go.heard.stream().anyMatch(h -> h.startsWith("states of 9 end 0 ") && h.contains("refused")));
        feed.stop();
        instance.close();
    }

    @Test
    void leadershipBeforeTheInstanceIsSentOnceItOpens() throws Exception {
        Source source = new Source();
        MetadataFeed feed = new MetadataFeed(940, BROKER, source);
        feed.start();
        feed.leadership(Set.of(), Set.of(Samples.PARTITION));
        feed.leadership(Set.of(Samples.PARTITION), Set.of());
        Go go = new Go();
        Instance instance = Instance.open(go, 940, Map.of(), "");
        feed.wake();
        await(() -> go.heard.contains("lead 1 follow 0 stop 0"));
        assertEquals("facts c h:1", go.heard.get(0));

        go.wants.set(true);
        feed.wake();
        await(() -> go.heard.contains("segments 0 from 0 the remote log metadata of the partition is not read yet"));
        source.ready = true;
        go.wants.set(true);
        feed.wake();
        await(() -> go.heard.contains("segments 1 from 0 "));
        source.failure = new RemoteStorageException("broken");
        go.wants.set(true);
        feed.wake();
        await(() -> go.heard.stream().anyMatch(h -> h.startsWith("segments 0 ") && h.contains("broken")));

        feed.stopped(Set.of(Samples.PARTITION));
        await(() -> go.heard.contains("lead 0 follow 0 stop 1"));
        instance.close();

        Go again = new Go();
        feed.leadership(Set.of(Samples.PARTITION), Set.of());
        Instance reopened = Instance.open(again, 940, Map.of(), "");
        feed.wake();
        await(() -> again.heard.contains("lead 1 follow 0 stop 0"));
        assertTrue(again.heard.get(0).startsWith("facts "), "a new instance hears the facts again");
        feed.stop();
        reopened.close();
    }

    /** On a fresh cluster no partition is tiered, and no leadership is ever reported. */
    @Test
    void factsNeedNoPartition() throws Exception {
        Go go = new Go();
        MetadataFeed feed = new MetadataFeed(945, BROKER, new Source());
        feed.start();
        Instance instance = Instance.open(go, 945, Map.of(), "");
        feed.wake();
        await(() -> go.heard.equals(List.of("facts c h:1")));
        feed.stop();
        instance.close();
    }

    @Test
    void aLongListComesInPartsByStartOffset() throws Exception {
        Source source = new Source();
        source.ready = true;
        List<RemoteLogSegmentMetadata> many = new ArrayList<>();
        for (int i = 0; i < 2_500; i++) {
            many.add(Samples.segment(i * 100L, RemoteLogSegmentState.COPY_SEGMENT_FINISHED));
        }
        Collections.shuffle(many, new Random(1));
        source.segments = many;
        MetadataFeed feed = new MetadataFeed(941, BROKER, source);
        Go go = new Go();
        Instance instance = Instance.open(go, 941, Map.of(), "");
        feed.start();
        List<Long> all = new ArrayList<>();
        for (String want : List.of("segments 1000 and more from 0 ", "segments 1000 and more from 100000 ",
                "segments 500 from 200000 ", "segments 1 from 249950 ", "segments 0 from 250000 ")) {
            go.from = Long.parseLong(want.replaceAll(".* from ", "").trim());
            go.wants.set(true);
            feed.wake();
            await(() -> go.heard.contains(want));
            if (go.from % 100 == 0) {
                all.addAll(go.bases);
            }
        }
        assertEquals(many.stream().map(RemoteLogSegmentMetadata::startOffset).sorted().toList(), all);
        feed.stop();
        instance.close();
    }

    @Test
    void aListThatDoesNotFitAMessageIsHalved() throws Exception {
        Source source = new Source();
        source.ready = true;
        Map<Integer, Long> epochs = new HashMap<>();
        for (int e = 0; e < 500; e++) {
            epochs.put(e, 0L);
        }
        List<RemoteLogSegmentMetadata> large = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            RemoteLogSegmentMetadata s = Samples.segment(i * 100L, RemoteLogSegmentState.COPY_SEGMENT_FINISHED);
            large.add(new RemoteLogSegmentMetadata(s.remoteLogSegmentId(), s.startOffset(), s.endOffset(), 1, 2, 3, 4096,
                    s.customMetadata(), s.state(), epochs, true));
        }
        source.segments = large;
        MetadataFeed feed = new MetadataFeed(942, BROKER, source);
        Go go = new Go();
        Instance instance = Instance.open(go, 942, Map.of(), "");
        feed.start();
        go.wants.set(true);
        feed.wake();
        await(() -> go.heard.stream().anyMatch(h -> h.startsWith("segments ")));
        assertEquals("segments 75 and more from 0 ", go.heard.get(go.heard.size() - 1));
        feed.stop();
        instance.close();
    }

    private static void await(BooleanSupplier condition) throws InterruptedException {
        long deadline = System.nanoTime() + 20_000_000_000L;
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, "the condition did not become true");
            Thread.sleep(5);
        }
    }
}
