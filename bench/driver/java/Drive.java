import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.Reader;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.zip.CRC32C;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager;

/**
 * Drives any RemoteStorageManager as a broker would, without a broker: one command a line on standard input, one answer a line on
 * standard output, "token ok name=value ..." or "token error text". Arguments: class, folder of jars or "-", properties file.
 */
public final class Drive {
    private static final Uuid TOPIC = new Uuid(0x7469646d61726bL, 1);

    private static final Map<Long, RemoteLogSegmentMetadata> SEGMENTS = new ConcurrentHashMap<>();
    private static PrintStream out;
    private static RemoteStorageManager rsm;
    private static String className;
    private static Map<String, Object> settings;
    private static ClassLoader loader;

    private Drive() {
    }

    public static void main(String[] args) throws Exception {
        out = System.out;
        System.setOut(System.err);
        className = args[0];
        loader = loader(args[1]);
        settings = settings(args[2]);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        ExecutorService pool = Executors.newFixedThreadPool(1);
        List<Future<?>> running = new ArrayList<>();
        answer("-", "ok");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] c = line.split("\t");
            switch (c[1]) {
                case "threads":
                    pool.shutdown();
                    pool = Executors.newFixedThreadPool(Integer.parseInt(c[2]));
                    answer(c[0], "ok");
                    break;
                case "exit":
                    pool.shutdownNow();
                    answer(c[0], "ok");
                    Runtime.getRuntime().halt(0);
                    break;
                default:
                    running.add(pool.submit(() -> perform(c)));
            }
        }
        Runtime.getRuntime().halt(0);
    }

    private static ClassLoader loader(String folder) throws Exception {
        if (folder.equals("-")) {
            return Drive.class.getClassLoader();
        }
        List<URL> urls = new ArrayList<>();
        File[] files = new File(folder).listFiles((d, n) -> n.endsWith(".jar"));
        for (File f : files == null ? new File[0] : files) {
            urls.add(f.toURI().toURL());
        }
        return new URLClassLoader(urls.toArray(new URL[0]), Drive.class.getClassLoader());
    }

    private static Map<String, Object> settings(String file) throws IOException {
        Properties p = new Properties();
        try (Reader r = Files.newBufferedReader(Path.of(file))) {
            p.load(r);
        }
        Map<String, Object> m = new HashMap<>();
        for (String k : p.stringPropertyNames()) {
            m.put(k, p.getProperty(k));
        }
        m.put("broker.id", 1);
        return m;
    }

    private static synchronized void answer(String token, String text) {
        out.println(token + " " + text);
        out.flush();
    }

    private static void perform(String[] c) {
        try {
            answer(c[0], "ok " + run(c));
        } catch (Throwable t) {
            StringBuilder text = new StringBuilder();
            for (Throwable e = t; e != null; e = e.getCause()) {
                text.append(text.length() == 0 ? "" : ": ").append(e);
            }
            answer(c[0], "error " + text.toString().replace('\n', ' '));
        }
    }

    private static String run(String[] c) throws Throwable {
        switch (c[1]) {
            case "configure":
                return configure();
            case "copy":
                return copy(c);
            case "fetch":
                return fetch(Long.parseLong(c[2]), Integer.parseInt(c[3]), Integer.parseInt(c[4]), Integer.parseInt(c[5]));
            case "index":
                return index(Long.parseLong(c[2]), c[3]);
            case "delete":
                return delete(Long.parseLong(c[2]));
            case "cross":
                return cross(Integer.parseInt(c[2]), c[3]);
            case "array":
                return array(Integer.parseInt(c[2]), Long.parseLong(c[3]));
            case "jvm":
                return jvm();
            case "close":
                rsm.close();
                return "";
            default:
                throw new IllegalArgumentException("no command " + c[1]);
        }
    }

    private static String configure() throws Exception {
        long from = System.nanoTime();
        rsm = (RemoteStorageManager) loader.loadClass(className).getConstructor().newInstance();
        rsm.configure(settings);
        return "ns=" + (System.nanoTime() - from);
    }

    /** copy id partition base end maxTimestamp folder. */
    private static String copy(String[] c) throws Exception {
        long id = Long.parseLong(c[2]);
        long base = Long.parseLong(c[4]);
        String name = String.format("%020d", base);
        Path log = Path.of(c[7], name + ".log");
        TopicIdPartition tp = new TopicIdPartition(TOPIC, new TopicPartition("bench", Integer.parseInt(c[3])));
        long size = Files.size(log);
        RemoteLogSegmentMetadata meta = new RemoteLogSegmentMetadata(new RemoteLogSegmentId(tp, new Uuid(0x626e6368L, id)), base,
                Long.parseLong(c[5]), Long.parseLong(c[6]), 1, System.currentTimeMillis(), (int) size, Map.of(0, 0L));
        String next = String.format("%020d", Long.parseLong(c[5]) + 1);
        LogSegmentData data = new LogSegmentData(log, Path.of(c[7], name + ".index"), Path.of(c[7], name + ".timeindex"), Optional.empty(),
                Path.of(c[7], next + ".snapshot"), ByteBuffer.wrap("0\n1\n0 0\n".getBytes(StandardCharsets.UTF_8)));
        long from = System.nanoTime();
        Optional<RemoteLogSegmentMetadata.CustomMetadata> custom = rsm.copyLogSegmentData(meta, data);
        long took = System.nanoTime() - from;
        SEGMENTS.put(id, new RemoteLogSegmentMetadata(meta.remoteLogSegmentId(), meta.startOffset(), meta.endOffset(), meta.maxTimestampMs(),
                meta.brokerId(), meta.eventTimestampMs(), meta.segmentSizeInBytes(), custom,
                org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState.COPY_SEGMENT_FINISHED, meta.segmentLeaderEpochs()));
        return "ns=" + took + " bytes=" + size;
    }

    /** fetch id start end(-1: all) buffer: opens as a broker does, without an end, reads up to end and tells the checksum. */
    private static String fetch(long id, int start, int end, int buffer) throws Exception {
        byte[] b = new byte[buffer];
        CRC32C crc = new CRC32C();
        long from = System.nanoTime();
        long first = 0;
        long checking = 0;
        long total = 0;
        long wanted = end < 0 ? Long.MAX_VALUE : end - start + 1L;
        try (InputStream in = rsm.fetchLogSegment(SEGMENTS.get(id), start)) {
            while (total < wanted) {
                int n = in.read(b, 0, (int) Math.min(buffer, wanted - total));
                if (n < 0) {
                    break;
                }
                long now = System.nanoTime();
                if (total == 0) {
                    first = now - from;
                }
                total += n;
                crc.update(b, 0, n);
                checking += System.nanoTime() - now;
            }
        }
        long took = System.nanoTime() - from - checking;
        return "ns=" + took + " first=" + first + " bytes=" + total + " crc=" + crc.getValue();
    }

    private static String index(long id, String type) throws Exception {
        long from = System.nanoTime();
        try (InputStream in = rsm.fetchIndex(SEGMENTS.get(id), RemoteStorageManager.IndexType.valueOf(type))) {
            int n = in.readAllBytes().length;
            return "ns=" + (System.nanoTime() - from) + " bytes=" + n;
        }
    }

    private static String delete(long id) throws Exception {
        long from = System.nanoTime();
        rsm.deleteLogSegmentData(SEGMENTS.get(id));
        return "ns=" + (System.nanoTime() - from);
    }

    private static native int nothing();

    /** What a call into the native library and back costs, without and with what every real call has around it, beside one into C. */
    private static String cross(int calls, String floor) throws Throwable {
        System.load(floor);
        Class<?> lib = Class.forName("io.tidemark.kafka.Native", true, loader);
        MethodHandles.Lookup own = MethodHandles.lookup();
        MethodHandles.Lookup lookup = MethodHandles.privateLookupIn(lib, own);
        MethodHandle bare = own.findStatic(Drive.class, "nothing", MethodType.methodType(int.class));
        MethodHandle abi = lookup.findStatic(lib, "abi", MethodType.methodType(int.class));
        MethodHandle level = lookup.findStatic(lib, "logLevel", MethodType.methodType(void.class, int.class));
        double plain = Double.MAX_VALUE;
        double guarded = Double.MAX_VALUE;
        double c = Double.MAX_VALUE;
        for (int round = 0; round < 5; round++) {
            c = Math.min(c, perCall(calls, bare));
            plain = Math.min(plain, perCall(calls, abi));
            long from = System.nanoTime();
            for (int i = 0; i < calls; i++) {
                level.invokeExact(1);
            }
            guarded = Math.min(guarded, (double) (System.nanoTime() - from) / calls);
        }
        return "plain=" + plain + " guarded=" + guarded + " c=" + c;
    }

    private static double perCall(int calls, MethodHandle method) throws Throwable {
        long from = System.nanoTime();
        for (int i = 0; i < calls; i++) {
            int ignored = (int) method.invokeExact();
        }
        return (double) (System.nanoTime() - from) / calls;
    }

    /** Copies between arrays in steps of a size: the floor of every stream. */
    private static String array(int step, long total) {
        byte[] a = new byte[step * 8];
        byte[] b = new byte[step];
        long best = Long.MAX_VALUE;
        for (int round = 0; round < 5; round++) {
            long from = System.nanoTime();
            for (long n = 0; n < total; n += step) {
                System.arraycopy(a, (int) (n / step % 8) * step, b, 0, step);
            }
            best = Math.min(best, System.nanoTime() - from);
        }
        return "ns=" + best + " bytes=" + total + " last=" + b[step - 1];
    }

    private static String jvm() {
        long gc = 0;
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            gc += bean.getCollectionTime();
        }
        return "gc=" + gc + " heap=" + ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }
}
