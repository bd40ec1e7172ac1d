package io.tidemark.kafka.conformance;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidemark.kafka.TidemarkRemoteStorageManager;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Optional;
import java.util.zip.CRC32C;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteResourceNotFoundException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager.IndexType;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What is copied can be read, and goes when it is deleted: the contract of RemoteStorageManager (KIP-405). */
class StorageManagerConformanceTest extends Fixture {
    private TidemarkRemoteStorageManager plugin;

    @BeforeEach
    void configure() {
        plugin = broker();
    }

    private static byte[] all(InputStream in) throws Exception {
        try (in) {
            return in.readAllBytes();
        }
    }

    private void assertStored(TidemarkRemoteStorageManager at, SegmentFiles files, RemoteLogSegmentMetadata m)
            throws Exception {
        assertArrayEquals(files.bytes, all(at.fetchLogSegment(m, 0)), "the log");
        assertArrayEquals(Files.readAllBytes(files.offsetIndex), all(at.fetchIndex(m, IndexType.OFFSET)));
        assertArrayEquals(Files.readAllBytes(files.timeIndex), all(at.fetchIndex(m, IndexType.TIMESTAMP)));
        assertArrayEquals(Files.readAllBytes(files.snapshot), all(at.fetchIndex(m, IndexType.PRODUCER_SNAPSHOT)));
        assertArrayEquals(files.epochs.getBytes(StandardCharsets.UTF_8), all(at.fetchIndex(m, IndexType.LEADER_EPOCH)));
        if (files.txnIndex != null) {
            assertArrayEquals(Files.readAllBytes(files.txnIndex), all(at.fetchIndex(m, IndexType.TRANSACTION)));
        }
    }

    @Test
    void everyByteComesBackWithEveryIndex() throws Exception {
        SegmentFiles files = files(5 * MIB / 2, true);
        assertTrue(Files.size(files.offsetIndex) > 0 && Files.size(files.timeIndex) > 0);
        assertStored(plugin, files, copy(plugin, files, partition));
    }

    @Test
    void smallestSegmentComesBack() throws Exception {
        SegmentFiles files = files(1, false);
        assertEquals(1, files.starts.size());
        assertStored(plugin, files, copy(plugin, files, partition));
    }

    /** Chunks are 1 MiB: the last one may be nearly empty, just full or just begun. */
    @Test
    void segmentOfAboutAChunkComesBack() throws Exception {
        for (int size : new int[] {MIB - 200_000, MIB, MIB + 1}) {
            SegmentFiles files = files(size, false);
            assertStored(plugin, files, copy(plugin, files, partition));
        }
    }

    @Test
    void emptySegmentComesBackEmpty() throws Exception {
        SegmentFiles files = files(0, false);
        RemoteLogSegmentMetadata m = copy(plugin, files, partition);
        assertStored(plugin, files, m);
        try (InputStream in = plugin.fetchLogSegment(m, 0)) {
            assertEquals(-1, in.read());
        }
    }

    @Test
    void segmentIsReadableWithoutItsCustomMetadata() throws Exception {
        SegmentFiles files = files(2 * MIB, true);
        RemoteLogSegmentMetadata m = copy(plugin, files, partition);
        assertTrue(m.customMetadata().isPresent());
        RemoteLogSegmentMetadata without = SegmentFiles.finished(m, Optional.empty());
        assertStored(plugin, files, without);
        assertStored(broker(), files, without); // that saw neither
    }

    /** Longer custom metadata would end the tiering of the partition. */
    @Test
    void customMetadataFitsTheLimitOfTheBroker() throws Exception {
        TopicIdPartition longest = new TopicIdPartition(Uuid.randomUuid(), Integer.MAX_VALUE, "t".repeat(249));
        for (TopicIdPartition p : new TopicIdPartition[] {partition, longest}) {
            SegmentFiles files = files(MIB + 5, true);
            RemoteLogSegmentMetadata m = copy(plugin, files, p);
            byte[] custom = m.customMetadata().orElseThrow().value();
            assertTrue(custom.length > 8 && custom.length <= 128, custom.length + " bytes");
            assertStored(plugin, files, m);

            // docs/format/custom-metadata.md: magic, version, length, CRC32C of the bytes before it and after it
            ByteBuffer b = ByteBuffer.wrap(custom).order(ByteOrder.LITTLE_ENDIAN);
            assertEquals((byte) 0xd7, b.get());
            assertEquals(1, b.get());
            assertEquals(custom.length - 8, b.getShort());
            CRC32C crc = new CRC32C();
            crc.update(custom, 0, 4);
            crc.update(custom, 8, custom.length - 8);
            assertEquals((int) crc.getValue(), b.getInt());
        }
    }

    /** A broker that has the custom metadata of another segment must not be served this one. */
    @Test
    void foreignOrDamagedCustomMetadataIsRefused() throws Exception {
        RemoteLogSegmentMetadata one = copy(plugin, files(10_000, false), partition);
        RemoteLogSegmentMetadata other = copy(plugin, files(20_000, false), partition);
        RemoteLogSegmentMetadata mixed = SegmentFiles.finished(one, other.customMetadata());
        failsWith(RemoteStorageException.class, () -> plugin.fetchLogSegment(mixed, 0));
        byte[] damaged = one.customMetadata().orElseThrow().value().clone();
        damaged[damaged.length / 2] ^= 1;
        RemoteLogSegmentMetadata flipped = SegmentFiles.finished(one, Optional.of(new CustomMetadata(damaged)));
        failsWith(RemoteStorageException.class, () -> plugin.fetchIndex(flipped, IndexType.OFFSET));
    }

    /** The cache of indexes in the broker tells by this class alone that there is none. */
    @Test
    void absentTransactionIndexIsNotFound() throws Exception {
        RemoteLogSegmentMetadata m = copy(plugin, files(100_000, false), partition);
        for (int i = 0; i < 3; i++) {
            failsWith(RemoteResourceNotFoundException.class, () -> plugin.fetchIndex(m, IndexType.TRANSACTION));
        }
    }

    @Test
    void whatWasNeverCopiedIsNotFound() throws Exception {
        RemoteLogSegmentMetadata m = files(1_000, false).attempt(partition);
        failsWith(RemoteResourceNotFoundException.class, () -> plugin.fetchLogSegment(m, 0));
        failsWith(RemoteResourceNotFoundException.class, () -> plugin.fetchLogSegment(m, 0, 10));
        for (IndexType type : IndexType.values()) {
            failsWith(RemoteResourceNotFoundException.class, () -> plugin.fetchIndex(m, type));
        }
    }

    /** As after a copy that succeeded without the broker learning of it. */
    @Test
    void secondCopyOfTheSameOffsetsStandsBesideTheFirst() throws Exception {
        SegmentFiles files = files(3 * MIB / 2, true);
        RemoteLogSegmentMetadata first = copy(plugin, files, partition);
        RemoteLogSegmentMetadata second = copy(plugin, files, partition);
        assertStored(plugin, files, first);
        assertStored(plugin, files, second);
        plugin.deleteLogSegmentData(first);
        eventually("the objects of the first are gone", () -> objects(first).isEmpty());
        assertStored(plugin, files, second);
        assertStored(broker(), files, second);
    }

    @Test
    void deleteEndsReadingAndMayBeRepeated() throws Exception {
        RemoteLogSegmentMetadata m = copy(plugin, files(2 * MIB, true), partition);
        plugin.deleteLogSegmentData(m);
        plugin.deleteLogSegmentData(m);
        eventually("the objects are gone", () -> objects(m).isEmpty());
        plugin.deleteLogSegmentData(m);
        TidemarkRemoteStorageManager other = broker();
        for (IndexType type : IndexType.values()) {
            failsWith(RemoteResourceNotFoundException.class, () -> other.fetchIndex(m, type));
        }
        failsWith(RemoteResourceNotFoundException.class, () -> other.fetchLogSegment(m, 0));
        other.deleteLogSegmentData(m);
    }

    /** After a failed copy a broker asks for this, without custom metadata. */
    @Test
    void deleteOfWhatWasNeverCopiedIsSuccess() throws Exception {
        RemoteLogSegmentMetadata m = files(1_000, false).attempt(partition);
        plugin.deleteLogSegmentData(m);
        plugin.deleteLogSegmentData(m);
    }

    @Test
    void deleteWithoutCustomMetadataRemovesTheObjects() throws Exception {
        RemoteLogSegmentMetadata m = copy(plugin, files(10_000, false), partition);
        assertEquals(2, objects(m).size());
        plugin.deleteLogSegmentData(SegmentFiles.finished(m, Optional.empty()));
        eventually("the objects are gone", () -> objects(m).isEmpty());
    }

    /** The buffer is the broker's: its position must stay, wherever its bytes lie. */
    @Test
    void leaderEpochBufferIsReadAndLeftAlone() throws Exception {
        SegmentFiles files = files(5_000, false);
        byte[] text = files.epochs.getBytes(StandardCharsets.UTF_8);
        ByteBuffer roomy = ByteBuffer.allocate(text.length + 20).put(7, text).position(7).limit(7 + text.length);
        ByteBuffer direct = ByteBuffer.allocateDirect(text.length + 20).put(9, text).position(9).limit(9 + text.length);
        ByteBuffer[] buffers = {ByteBuffer.wrap(text), roomy, roomy.slice(), roomy.asReadOnlyBuffer(), direct,
            direct.slice(), direct.asReadOnlyBuffer()};
        for (ByteBuffer buffer : buffers) {
            int position = buffer.position();
            int limit = buffer.limit();
            RemoteLogSegmentMetadata m = files.attempt(partition);
            plugin.copyLogSegmentData(m, files.data(buffer));
            assertEquals(position, buffer.position(), "position of " + buffer);
            assertEquals(limit, buffer.limit(), "limit of " + buffer);
            assertArrayEquals(text, all(plugin.fetchIndex(m, IndexType.LEADER_EPOCH)), "through " + buffer);
        }
    }

    /** Followers serve remote reads too. */
    @Test
    void everyBrokerReadsWhatAnotherCopied() throws Exception {
        TidemarkRemoteStorageManager other = broker();
        SegmentFiles ours = files(3 * MIB / 2, true);
        SegmentFiles theirs = files(MIB / 2, false);
        RemoteLogSegmentMetadata m = copy(plugin, ours, partition);
        RemoteLogSegmentMetadata n = copy(other, theirs, partition);
        assertStored(other, ours, m);
        assertStored(plugin, theirs, n);
        plugin.close();
        assertStored(other, ours, m);
    }

    /** Kafka deletes the local files once the copy has returned. */
    @Test
    void copyNeedsNoLocalFileAfterItReturned() throws Exception {
        SegmentFiles files = files(2 * MIB, false);
        RemoteLogSegmentMetadata m = copy(plugin, files, partition);
        byte[] offsets = Files.readAllBytes(files.offsetIndex);
        Files.write(files.log, new byte[files.bytes.length]);
        Files.delete(files.log);
        Files.delete(files.offsetIndex);
        assertArrayEquals(files.bytes, all(plugin.fetchLogSegment(m, 0)));
        assertArrayEquals(offsets, all(plugin.fetchIndex(m, IndexType.OFFSET)));
    }

    /** Brokers before 4.1 do not close streams of indexes. */
    @Test
    void indexStreamsHoldNothingThatMustBeClosed() throws Exception {
        RemoteLogSegmentMetadata m = copy(plugin, files(100_000, false), partition);
        for (int i = 0; i < 500; i++) {
            InputStream in = plugin.fetchIndex(m, IndexType.OFFSET);
            assertNotNull(in);
            assertFalse(in.available() == 0);
        }
    }
}
