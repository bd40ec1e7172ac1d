package io.tidemark.kafka.conformance;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.zip.CRC32C;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;

/**
 * The files of a closed segment, as a broker hands them to its plugin: a log of format 2 batches (KIP-98) and its
 * indexes. Written byte by byte, because Kafka's own classes for it change their package between versions.
 */
final class SegmentFiles {
    static final int HEADER = 61;
    static final long BASE = 1_000;
    private static final long TIME = 1_700_000_000_000L;

    final Path dir;
    final Path log;
    final Path offsetIndex;
    final Path timeIndex;
    final Path snapshot;
    Path txnIndex; // null: absent
    byte[] bytes = new byte[0];
    final List<Integer> starts = new ArrayList<>(); // positions of the batches
    final String epochs = "0\n2\n0 0\n3 " + BASE + "\n";
    long endOffset = BASE - 1;

    private SegmentFiles(Path dir) throws IOException {
        this.dir = Files.createDirectories(dir);
        String name = String.format("%020d", BASE);
        log = dir.resolve(name + ".log");
        offsetIndex = dir.resolve(name + ".index");
        timeIndex = dir.resolve(name + ".timeindex");
        snapshot = dir.resolve(name + ".snapshot");
    }

    /**
     * Batches of many sizes, with every codec's bits (what they hold is opaque to storage), plain records, transactions
     * with commit and abort markers, until the log has at least {@code size} bytes.
     */
    static SegmentFiles write(Path dir, int size, boolean aborted) throws IOException {
        SegmentFiles files = new SegmentFiles(dir);
        Random random = new Random(size);
        ByteArrayOutputStream log = new ByteArrayOutputStream(size + 200_000);
        ByteArrayOutputStream offsets = new ByteArrayOutputStream();
        ByteArrayOutputStream times = new ByteArrayOutputStream();
        for (int n = 0; log.size() < size; n++) {
            boolean marker = n % 7 == 5;
            boolean transactional = n % 7 == 4 || marker;
            int codec = marker ? 0 : n % 5;
            byte[] records;
            int count = 1;
            if (marker) {
                records = record(new byte[] {0, 0, 0, (byte) (n % 2)}, new byte[6]);
            } else if (codec == 0) {
                records = record(("key-" + n).getBytes(StandardCharsets.UTF_8), bytes(random, 1 + random.nextInt(3_000)));
            } else {
                count = 1 + random.nextInt(50);
                records = bytes(random, 10 + random.nextInt(n % 11 == 0 ? 150_000 : 20_000));
            }
            long first = files.endOffset + 1;
            long time = TIME + n * 10L;
            if (n > 0 && n % 3 == 0) {
                offsets.writeBytes(ByteBuffer.allocate(8).putInt((int) (first - BASE)).putInt(log.size()).array());
                times.writeBytes(ByteBuffer.allocate(12).putLong(time).putInt((int) (first - BASE)).array());
            }
            files.starts.add(log.size());
            log.writeBytes(batch(first, count, codec, transactional, marker, time, records));
            files.endOffset = first + count - 1;
        }
        files.bytes = log.toByteArray();
        Files.write(files.log, files.bytes);
        Files.write(files.offsetIndex, offsets.toByteArray());
        Files.write(files.timeIndex, times.toByteArray());
        byte[] none = ByteBuffer.allocate(4).putInt(0).array();
        CRC32C crc = new CRC32C();
        crc.update(none);
        Files.write(files.snapshot, ByteBuffer.allocate(10).putShort((short) 1).putInt((int) crc.getValue()).put(none)
                .array());
        if (aborted) {
            files.txnIndex = dir.resolve(String.format("%020d", BASE) + ".txnindex");
            Files.write(files.txnIndex, ByteBuffer.allocate(34).putShort((short) 0).putLong(7).putLong(BASE)
                    .putLong(BASE + 1).putLong(BASE + 2).array());
        }
        return files;
    }

    private static byte[] bytes(Random random, int n) {
        byte[] out = new byte[n];
        random.nextBytes(out);
        return out;
    }

    private static byte[] batch(long first, int count, int codec, boolean transactional, boolean control, long time,
            byte[] records) {
        ByteBuffer b = ByteBuffer.allocate(HEADER + records.length);
        b.putLong(first).putInt(b.capacity() - 12).putInt(3).put((byte) 2).putInt(0);
        b.putShort((short) (codec | (transactional ? 0x10 : 0) | (control ? 0x20 : 0)));
        b.putInt(count - 1).putLong(time).putLong(time);
        b.putLong(transactional ? 7 : -1).putShort((short) (transactional ? 0 : -1));
        b.putInt(transactional && !control ? 0 : -1).putInt(count).put(records);
        CRC32C crc = new CRC32C();
        crc.update(b.array(), 21, b.capacity() - 21);
        return b.putInt(17, (int) crc.getValue()).array();
    }

    private static byte[] record(byte[] key, byte[] value) {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        body.write(0); // attributes
        varint(body, 0); // timestamp delta
        varint(body, 0); // offset delta
        varint(body, key.length);
        body.writeBytes(key);
        varint(body, value.length);
        body.writeBytes(value);
        varint(body, 0); // headers
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        varint(out, body.size());
        out.writeBytes(body.toByteArray());
        return out.toByteArray();
    }

    private static void varint(ByteArrayOutputStream out, int value) {
        int v = value << 1 ^ value >> 31;
        while ((v & ~0x7f) != 0) {
            out.write(v & 0x7f | 0x80);
            v >>>= 7;
        }
        out.write(v);
    }

    ByteBuffer epochBuffer() {
        return ByteBuffer.wrap(epochs.getBytes(StandardCharsets.UTF_8));
    }

    LogSegmentData data() {
        return data(epochBuffer());
    }

    LogSegmentData data(ByteBuffer leaderEpochs) {
        return new LogSegmentData(log, offsetIndex, timeIndex, Optional.ofNullable(txnIndex), snapshot, leaderEpochs);
    }

    /** As a broker makes it for an attempt to copy: with an id of its own. */
    RemoteLogSegmentMetadata attempt(TopicIdPartition partition) {
        return new RemoteLogSegmentMetadata(new RemoteLogSegmentId(partition, Uuid.randomUuid()), BASE,
                Math.max(endOffset, BASE), TIME, 0, TIME, bytes.length, Map.of(3, BASE), txnIndex == null);
    }

    /** As a broker has it after the copy. */
    static RemoteLogSegmentMetadata finished(RemoteLogSegmentMetadata m, Optional<CustomMetadata> custom) {
        return new RemoteLogSegmentMetadata(m.remoteLogSegmentId(), m.startOffset(), m.endOffset(), m.maxTimestampMs(),
                m.brokerId(), m.eventTimestampMs(), m.segmentSizeInBytes(), custom,
                RemoteLogSegmentState.COPY_SEGMENT_FINISHED, m.segmentLeaderEpochs(), m.isTxnIdxEmpty());
    }
}
