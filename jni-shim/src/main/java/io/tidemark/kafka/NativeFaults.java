package io.tidemark.kafka;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;

/** The words for every reason why the native library cannot be loaded. */
final class NativeFaults {
    private static final int ELF_64 = 2;
    private static final int ELF_HEADER = 64;
    private static final int SECTION_TABLE = 40; // offset of e_shoff
    private static final int EM_X86_64 = 62;
    private static final int EM_AARCH64 = 183;

    private NativeFaults() {
    }

    /** What the platform's folder in the jar is called, or null when there is none. */
    static String platform(String os, String arch) {
        boolean amd64 = arch.equals("amd64") || arch.equals("x86_64");
        return os.equals("Linux") && amd64 ? "linux-amd64" : null;
    }

    /** Why this process cannot host the library, or null. {@code maps} is the text of /proc/self/maps. */
    static String refusal(String os, String arch, String maps) {
        if (platform(os, arch) == null) {
            return "Tidemark has no native library for " + os + "/" + arch + ", only for Linux/amd64 with glibc";
        }
        if (maps.contains("/ld-musl-")) {
            return "Tidemark cannot run in a process of " + os + "/" + arch + " with musl libc (Alpine): libtidemark.so "
                    + "needs glibc, so use a broker image based on Debian, Ubuntu or Red Hat";
        }
        if (maps.contains("libjsig")) {
            return "Tidemark cannot run while libjsig is loaded, because it puts the signal handlers of Go behind "
                    + "those of the JVM: take libjsig.so out of LD_PRELOAD";
        }
        return null;
    }

    static String prefix(String os, String arch, Path file) {
        return "the native library of Tidemark, " + file + ", could not be loaded on " + os + "/" + arch + ": ";
    }

    /** What is wrong with a library file of that size, from its first bytes, or null. */
    static String elf(byte[] head, long size, String arch) {
        if (head.length < ELF_HEADER || head[0] != 0x7f || head[1] != 'E' || head[2] != 'L' || head[3] != 'F') {
            return "it is not a Linux library";
        }
        int machine = (head[18] & 0xff) | (head[19] & 0xff) << 8;
        int wanted = arch.equals("aarch64") ? EM_AARCH64 : EM_X86_64;
        if (head[4] != ELF_64 || machine != wanted) {
            String name = machine == EM_X86_64 ? "amd64" : machine == EM_AARCH64 ? "aarch64" : "machine " + machine;
            return "it was built for " + name + ", not for " + arch;
        }
        // The section table ends the file; the JVM would die of SIGBUS in the linker if it were cut off.
        long sections = ByteBuffer.wrap(head).order(ByteOrder.LITTLE_ENDIAN).getLong(SECTION_TABLE);
        return sections >= size ? "it is cut off at " + size + " bytes" : null;
    }

    /** The words for an error of the dynamic linker. {@code mounts} is the text of /proc/mounts. */
    static String load(String message, Path file, String mounts) {
        String m = message == null ? "" : message;
        if (noexec(file, mounts) || m.contains("failed to map segment") || m.contains("Operation not permitted")) {
            return "its file system forbids execution (noexec), so name a folder on another one with "
                    + "-Dtidemark.native.dir=<folder> in KAFKA_OPTS";
        }
        if (m.contains("GLIBC_")) {
            return "the glibc of this system is too old (" + m + ")";
        }
        if (m.contains("static TLS")) {
            return "the thread-local storage that glibc reserves is used up by other libraries (" + m + ")";
        }
        return m;
    }

    /** Whether the file lies on a mount with the option noexec: that of the longest matching mount point. */
    private static boolean noexec(Path file, String mounts) {
        Path best = null;
        boolean noexec = false;
        for (String line : mounts.split("\n")) {
            String[] fields = line.split(" ");
            if (fields.length < 4) {
                continue;
            }
            Path point = Path.of(fields[1].replace("\\040", " "));
            if (file.startsWith(point) && (best == null || point.getNameCount() >= best.getNameCount())) {
                best = point;
                noexec = ("," + fields[3] + ",").contains(",noexec,");
            }
        }
        return noexec;
    }
}
