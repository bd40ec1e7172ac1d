import java.io.File;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.utils.*;
import org.apache.kafka.storage.internals.log.*;
public class Golden {
  static MemoryRecords batch(CompressionType c, long base, TimestampType tt, long logAppend, long pid, boolean txn, int n) {
    ByteBuffer buf = ByteBuffer.allocate(1 << 20);
    MemoryRecordsBuilder b = new MemoryRecordsBuilder(buf, (byte) 2, Compression.of(c).build(), tt, base, logAppend, pid,
      (short) (pid < 0 ? -1 : 3), pid < 0 ? -1 : 0, txn, false, 7, buf.capacity());
    for (int i = 0; i < n; i++) {
      byte[] key = i % 3 == 0 ? null : i % 3 == 1 ? new byte[0] : ("key-" + i).getBytes(StandardCharsets.UTF_8);
      byte[] value = i % 5 == 4 ? null : ("value-" + i + "-").repeat(i * 2).getBytes(StandardCharsets.UTF_8);
      Header[] hs = i % 2 == 0 ? new Header[0] : new Header[] {new RecordHeader("h", ("x" + i).getBytes()), new RecordHeader("ü", (byte[]) null)};
      b.appendWithOffset(base + i, 1700000000000L + i * 1000L, key, value, hs);
    }
    return b.build();
  }
  public static void main(String[] a) throws Exception {
    Path dir = Paths.get(a[0]);
    List<MemoryRecords> all = new ArrayList<>();
    long off = 1000;
    for (CompressionType c : List.of(CompressionType.NONE, CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4, CompressionType.ZSTD)) {
      all.add(batch(c, off, TimestampType.CREATE_TIME, -1, -1, false, 60)); off += 60;
      all.add(batch(c, off, TimestampType.LOG_APPEND_TIME, 1800000000000L, 42, true, 3)); off += 3;
      all.add(MemoryRecords.withEndTransactionMarker(off, 1750000000000L, 7, 42L, (short) 3,
        new EndTransactionMarker(c == CompressionType.GZIP ? ControlRecordType.ABORT : ControlRecordType.COMMIT, 9))); off += 1;
    }
    try (FileChannel f = FileChannel.open(dir.resolve("00000000000000001000.log"), StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE)) {
      for (MemoryRecords m : all) { ByteBuffer b = m.buffer().duplicate(); while (b.hasRemaining()) f.write(b); }
    }
    TransactionIndex ti = new TransactionIndex(1000, dir.resolve("00000000000000001000.txnindex").toFile());
    ti.append(new AbortedTxn(42, 1124, 1127, 1128)); ti.append(new AbortedTxn(43, 900, 1200, 1150)); ti.close();
    OffsetIndex oi = new OffsetIndex(dir.resolve("00000000000000001000.index").toFile(), 1000, 1024, true);
    oi.append(1062, 20000); oi.append(1126, 40000); oi.trimToValidSize(); oi.close();
    TimeIndex tx = new TimeIndex(dir.resolve("00000000000000001000.timeindex").toFile(), 1000, 1200, true);
    tx.maybeAppend(1700000059000L, 1059); tx.maybeAppend(1800000000000L, 1062); tx.trimToValidSize(); tx.close();
    TopicPartition tp = new TopicPartition("t", 0);
    ProducerStateManager psm = new ProducerStateManager(tp, dir.toFile(), 900000, new ProducerStateManagerConfig(86400000, false), Time.SYSTEM);
    psm.updateMapEndOffset(1320);
    psm.loadProducerEntry(new ProducerStateEntry(42, (short) 3, 9, 1700000000000L, OptionalLong.empty(), Optional.of(new BatchMetadata(2, 1318, 2, 1700000000000L))));
    psm.loadProducerEntry(new ProducerStateEntry(43, (short) 1, 9, 1700000000000L, OptionalLong.of(1290), Optional.of(new BatchMetadata(5, 1295, 5, 1700000000000L))));
    psm.loadProducerEntry(new ProducerStateEntry(44, (short) 0, -1, 1700000000000L, OptionalLong.of(0), Optional.empty()));
    psm.takeSnapshot();
  }
}
