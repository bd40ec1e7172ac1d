package io.tidemark.kafka;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.kafka.common.config.ConfigException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Loads the Go library, once in a process whatever the number of class loaders: two Go runtimes in one JVM break each
 * other. Nothing here runs from a static initialiser, because Kafka's command line tools share the class path.
 * Every refusal is a ConfigException of one sentence.
 */
final class NativeLibrary {
    static final String FILE = "libtidemark.so";
    static final int ABI = 1;

    private static final Logger LOG = LoggerFactory.getLogger(NativeLibrary.class);
    private static final String OVERRIDE = "tidemark.native.lib";
    private static final String SHARED = "tidemark.native.inode"; // path, identity, version; one per process
    private static final int DEFAULT_SLABS = 64;
    private static final int MAX_SLABS = 1 << 14;
    private static final int DEFAULT_SLAB_SIZE = 256 << 10;
    private static final int MIN_SLAB_SIZE = 64 << 10;
    private static final int MAX_SLAB_SIZE = 64 << 20;

    private static boolean loaded;
    private static int cpus; // asked once: the process-wide settings may not change
    private static NativeTransport transport;
    private static String version; // of the jar, set by load

    private NativeLibrary() {
    }

    /** The transport into the library, loading and initialising it at the first call. */
    static synchronized Transport transport(Map<String, ?> properties) {
        if (!loaded) {
            load();
            cpus = Runtime.getRuntime().availableProcessors();
            loaded = true;
            LogBridge.start();
        }
        init(properties);
        if (transport == null) {
            transport = new NativeTransport();
        }
        return transport;
    }

    private static void load() {
        String os = System.getProperty("os.name", "");
        String arch = System.getProperty("os.arch", "");
        String refusal = NativeFaults.refusal(os, arch, maps());
        if (refusal != null) {
            throw new ConfigException(refusal);
        }
        String override = System.getProperty(OVERRIDE);
        Path file;
        String identity;
        try {
            NativeFiles files = NativeFiles.of(NativeFaults.platform(os, arch));
            version = files.version();
            if (override != null) {
                file = Path.of(override);
                if (!file.isAbsolute() || !Files.isRegularFile(file)) {
                    throw new ConfigException("-D" + OVERRIDE + " must be the absolute path of a file, not "
                            + override);
                }
                identity = "file " + file.toRealPath();
            } else {
                file = files.extract(FILE);
                identity = files.sha256(FILE);
            }
            String fault = NativeFaults.elf(head(file), Files.size(file), arch);
            if (fault != null) {
                throw new ConfigException(NativeFaults.prefix(os, arch, file) + fault);
            }
            loadOnce(os, arch, file, identity, version);
        } catch (IOException e) {
            throw new ConfigException("the native library of Tidemark could not be prepared for " + os + "/" + arch
                    + ": " + e.getMessage());
        }
        int abi = Native.abi();
        if (abi != ABI) {
            throw new ConfigException(NativeFaults.prefix(os, arch, file) + "it has ABI " + abi
                    + " but this jar needs " + ABI + "; one Tidemark version per broker");
        }
    }

    /** System.getProperties() is the one object that all class loaders of a process share. */
    private static void loadOnce(String os, String arch, Path file, String identity, String version)
            throws IOException {
        synchronized (System.getProperties()) {
            String shared = System.getProperty(SHARED);
            if (shared == null) {
                load(os, arch, file, file);
                System.setProperty(SHARED, String.join("\n", file.toString(), identity, version));
                return;
            }
            String[] first = shared.split("\n", 3);
            if (first.length != 3 || !first[1].equals(identity) || !first[2].equals(version)) {
                throw new ConfigException("one Tidemark version per broker: " + first[first.length - 1] + " is loaded "
                        + "already from " + first[0] + ", and this is another build, " + version);
            }
            // A second loader may not load the same path, and a copy would be a second Go runtime: the same inode
            // under another name is neither.
            Path link = Path.of(first[0] + "." + ProcessHandle.current().pid() + "." + System.nanoTime() + ".so");
            Files.createLink(link, Path.of(first[0]));
            try {
                load(os, arch, link, file);
            } finally {
                Files.deleteIfExists(link);
            }
        }
    }

    private static void load(String os, String arch, Path path, Path named) throws IOException {
        try {
            System.load(path.toString());
        } catch (UnsatisfiedLinkError e) {
            String mounts = Files.isReadable(Path.of("/proc/mounts"))
                    ? Files.readString(Path.of("/proc/mounts"), StandardCharsets.UTF_8) : "";
            throw new ConfigException(NativeFaults.prefix(os, arch, named)
                    + NativeFaults.load(e.getMessage(), path, mounts));
        }
    }

    private static void init(Map<String, ?> properties) {
        int slabs = (int) number(properties, "native.slabs", 1, MAX_SLABS, DEFAULT_SLABS);
        int slabSize = (int) number(properties, "native.slab.bytes", MIN_SLAB_SIZE, MAX_SLAB_SIZE, DEFAULT_SLAB_SIZE);
        long memory = number(properties, "native.memory.limit", 0, Long.MAX_VALUE, 0);
        ByteBuffer request =
                Messages.init(cpus, memory, crashFile(), slabs, slabSize, version, LogBridge.level());
        byte[][] out = new byte[2][];
        int status = Native.init(request, request.capacity(), out);
        if (status != Status.OK) {
            throw Failure.of(status, out[1]).forConfigure();
        }
    }

    /**
     * A property of the process. What cannot be used is left out here, because opening validates every property and
     * names all faults at once.
     */
    private static long number(Map<String, ?> properties, String key, long low, long high, long otherwise) {
        Object value = properties.get(key);
        try {
            long number = value == null ? otherwise : Long.parseLong(value.toString().trim());
            return number >= low && number <= high ? number : otherwise;
        } catch (NumberFormatException e) {
            return otherwise;
        }
    }

    /** Go's last words when it dies; beside the broker's logs, never in a log directory of Kafka's. */
    private static String crashFile() {
        String logs = System.getProperty("kafka.logs.dir");
        if (logs == null || logs.isBlank() || !Files.isDirectory(Path.of(logs))) {
            return "";
        }
        Path file = Path.of(logs).toAbsolutePath().resolve("tidemark-go-crash.log");
        return file.toString();
    }

    private static byte[] head(Path file) throws IOException {
        try (var in = Files.newInputStream(file)) {
            return in.readNBytes(64);
        }
    }

    private static String maps() {
        try {
            return Files.readString(Path.of("/proc/self/maps"), StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            LOG.debug("/proc/self/maps is not readable: {}", e.toString());
            return "";
        }
    }
}
