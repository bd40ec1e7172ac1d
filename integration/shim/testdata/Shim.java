import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.lang.management.ManagementFactory;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import javax.management.ObjectName;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteResourceNotFoundException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager;

/** Drives the plugin class in the jar; what a call does is in the topic's name. Prints "done" at the end. */
public final class Shim {
    private static final int SIZE = 3 * 1024 * 1024 + 17;
    private static RemoteStorageManager rsm;

    private interface Body {
        void run() throws Exception;
    }

    public static void main(String[] args) throws Exception {
        rsm = load(args[0]);
        if (args.length == 1) {
            loadOnly();
        }
        refusal();
        rsm.configure(Map.of("broker.id", 1, "x", "y"));
        copies();
        streams();
        indexesAndDeletes();
        metrics();
        interrupts();
        loaders(args[0], args[1]);
        closes();
        System.out.println("done");
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    /** Prints why the plugin cannot start, or "started". */
    private static void loadOnly() {
        try {
            rsm.configure(Map.of("broker.id", 1));
            System.out.println("started");
        } catch (ConfigException e) {
            System.out.println("refused: " + e.getMessage());
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    private static RemoteStorageManager load(String jar) throws Exception {
        URLClassLoader loader =
                new URLClassLoader(new URL[] {Path.of(jar).toUri().toURL()}, Shim.class.getClassLoader());
        return (RemoteStorageManager) loader.loadClass("io.tidemark.kafka.TidemarkRemoteStorageManager")
                .getConstructor().newInstance();
    }

    private static void refusal() {
        ConfigException e = thrown(ConfigException.class,
                () -> rsm.configure(Map.of("broker.id", 1, "refuse", "d\u00e9j\u00e0 vu")));
        check(e.getMessage().equals("refused: d\u00e9j\u00e0 vu"), e.getMessage());
        thrown(ConfigException.class, () -> rsm.configure(Map.of()));
    }

    private static void copies() throws Exception {
        Optional<RemoteLogSegmentMetadata.CustomMetadata> custom = rsm.copyLogSegmentData(segment("flights"), data());
        check(new String(custom.get().value()).equals("flights"), "custom metadata");
        for (String broken : new String[] {"panic", "nil"}) {
            RemoteStorageException e = thrown(RemoteStorageException.class,
                    () -> rsm.copyLogSegmentData(segment(broken), data()));
            check(e.getClass() == RemoteStorageException.class && e.getMessage().startsWith("Internal: "), e.getMessage());
        }
        RemoteStorageException missing = thrown(RemoteStorageException.class,
                () -> rsm.copyLogSegmentData(segment("missing"), data()));
        check(missing.getClass() == RemoteStorageException.class, "copy throws no subclass");
        check(missing.getMessage().contains("object f\u00fcr"), missing.getMessage());
    }

    private static void streams() throws Exception {
        try (InputStream in = rsm.fetchLogSegment(segment("flights"), 0)) {
            byte[] all = in.readAllBytes();
            check(all.length == SIZE, "length " + all.length);
            for (int i = 0; i < all.length; i++) {
                if (all[i] != (byte) i) {
                    throw new IllegalStateException("byte " + i + " is " + all[i]);
                }
            }
        }
        try (InputStream in = rsm.fetchLogSegment(segment("short"), 0)) {
            IOException e = thrown(IOException.class, in::readAllBytes);
            check(!(e instanceof InterruptedIOException), "kind of error: " + e);
        }
        InputStream slow = rsm.fetchLogSegment(segment("slow"), 0);
        AtomicReference<Throwable> seen = new AtomicReference<>();
        Thread reader = new Thread(() -> {
            try {
                slow.read();
            } catch (Throwable t) {
                seen.set(t);
            }
        });
        reader.start();
        awaitNative(reader);
        slow.close();
        reader.join(10_000);
        check(seen.get() instanceof IOException, "close during a read: " + seen.get());
    }

    private static void indexesAndDeletes() throws Exception {
        for (RemoteStorageManager.IndexType type : RemoteStorageManager.IndexType.values()) {
            try (InputStream in = rsm.fetchIndex(segment("flights"), type)) {
                check(in.available() == SIZE, type + ": read whole");
            }
        }
        thrown(RemoteStorageException.class,
                () -> rsm.fetchIndex(segment("short"), RemoteStorageManager.IndexType.OFFSET));
        rsm.deleteLogSegmentData(segment("flights"));
    }

    private static void metrics() throws Exception {
        ObjectName name = new ObjectName("tidemark:type=Metrics,name=tidemark_scripted,k=v");
        long deadline = System.nanoTime() + 30_000_000_000L;
        while (!ManagementFactory.getPlatformMBeanServer().isRegistered(name)
                || (Double) ManagementFactory.getPlatformMBeanServer().getAttribute(name, "Value") != 42.0) {
            check(System.nanoTime() < deadline, "no metric " + name);
            Thread.sleep(50);
        }
    }

    private static void interrupts() throws Exception {
        AtomicReference<Throwable> copy = new AtomicReference<>();
        interrupt(() -> rsm.copyLogSegmentData(segment("slow"), data()), copy);
        check(copy.get() instanceof RemoteStorageException && copy.get().getCause() instanceof InterruptedException,
                "interrupted copy: " + copy.get());
        AtomicReference<Throwable> read = new AtomicReference<>();
        InputStream slow = rsm.fetchLogSegment(segment("slow"), 0);
        interrupt(slow::read, read);
        check(read.get() instanceof InterruptedIOException, "interrupted read: " + read.get());
        slow.close();
        // A thread that was interrupted before calls in with the flag set: cancelled at once, and the flag stays.
        Thread.currentThread().interrupt();
        thrown(RemoteStorageException.class, () -> rsm.copyLogSegmentData(segment("slow"), data()));
        check(Thread.interrupted(), "the flag is kept");
    }

    private static void interrupt(Body body, AtomicReference<Throwable> seen) throws Exception {
        AtomicReference<Boolean> flag = new AtomicReference<>(false);
        Thread caller = new Thread(() -> {
            try {
                body.run();
            } catch (Throwable t) {
                seen.set(t);
                flag.set(Thread.currentThread().isInterrupted());
            }
        });
        caller.start();
        awaitNative(caller);
        caller.interrupt();
        caller.join(10_000);
        check(!caller.isAlive(), "an interrupted call did not end");
        check(flag.get(), "the interrupt flag was lost");
    }

    /** Until the thread is inside of the native library. */
    private static void awaitNative(Thread thread) throws Exception {
        long deadline = System.nanoTime() + 10_000_000_000L;
        while (true) {
            StackTraceElement[] stack = thread.getStackTrace();
            if (stack.length > 0 && stack[0].isNativeMethod() && stack[0].getClassName().endsWith(".Native")) {
                return;
            }
            check(System.nanoTime() < deadline, "the thread did not enter the library");
            Thread.sleep(5);
        }
    }

    private static void loaders(String jar, String other) throws Exception {
        RemoteStorageManager second = load(jar);
        second.configure(Map.of("broker.id", 2));
        check(second.copyLogSegmentData(segment("two"), data()).isPresent(), "copy through a second loader");
        second.close();
        RemoteStorageManager third = load(other);
        ConfigException e = thrown(ConfigException.class, () -> third.configure(Map.of("broker.id", 3)));
        check(e.getMessage().startsWith("one Tidemark version per broker"), e.getMessage());
    }

    private static void closes() throws Exception {
        InputStream open = rsm.fetchLogSegment(segment("flights"), 0);
        check(open.read() == 0, "first byte");
        rsm.close();
        rsm.close();
        thrown(IOException.class, open::read);
        open.close();
        RemoteStorageException e = thrown(RemoteStorageException.class,
                () -> rsm.copyLogSegmentData(segment("flights"), data()));
        check(e.getMessage().startsWith("Closed: "), e.getMessage());
        check(!(e instanceof RemoteResourceNotFoundException), "closed is not absent");
        check(ManagementFactory.getPlatformMBeanServer().queryNames(new ObjectName("tidemark:*"), null).isEmpty(),
                "metrics are left");
    }

    private static RemoteLogSegmentMetadata segment(String topic) {
        TopicIdPartition partition = new TopicIdPartition(new Uuid(1, 2), 3, topic);
        return new RemoteLogSegmentMetadata(new RemoteLogSegmentId(partition, Uuid.randomUuid()), 0, 99, 1, 1, 1, SIZE,
                Map.of(0, 0L));
    }

    private static LogSegmentData data() {
        Path p = Path.of("/nowhere/0.log");
        return new LogSegmentData(p, p, p, Optional.empty(), p, ByteBuffer.wrap("0\n1\n0 0\n".getBytes()));
    }

    private static <T extends Throwable> T thrown(Class<T> type, Body body) {
        try {
            body.run();
        } catch (Throwable t) {
            if (type.isInstance(t)) {
                return type.cast(t);
            }
            throw new IllegalStateException("not " + type, t);
        }
        throw new IllegalStateException("nothing was thrown, not " + type);
    }

    private static void check(boolean ok, String what) {
        if (!ok) {
            throw new IllegalStateException(what);
        }
    }
}
