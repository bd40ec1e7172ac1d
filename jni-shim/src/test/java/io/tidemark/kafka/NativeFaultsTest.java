package io.tidemark.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class NativeFaultsTest {
    private static final String GLIBC = "7f00-7f01 r-xp 00000000 08:01 1 /usr/lib/x86_64-linux-gnu/libc.so.6\n";
    private static final Path FILE = Path.of("/tmp/tidemark-0/0.1.0-ab/libtidemark.so");

    private static byte[] elf(int machine) {
        byte[] head = new byte[64];
        head[0] = 0x7f;
        head[1] = 'E';
        head[2] = 'L';
        head[3] = 'F';
        head[4] = 2;
        head[18] = (byte) machine;
        return head;
    }

    @Test
    void platforms() {
        assertNull(NativeFaults.refusal("Linux", "amd64", GLIBC));
        assertTrue(NativeFaults.refusal("Linux", "s390x", GLIBC).contains("Linux/s390x"));
        assertTrue(NativeFaults.refusal("Mac OS X", "aarch64", "").contains("Mac OS X/aarch64"));
    }

    @Test
    void muslAndLibjsigAreRefusedInWords() {
        String musl = NativeFaults.refusal("Linux", "amd64", "7f00-7f01 r-xp 0 08:01 1 /lib/ld-musl-x86_64.so.1\n");
        assertTrue(musl.contains("musl") && musl.contains("glibc") && musl.contains("Linux/amd64"), musl);
        String jsig = NativeFaults.refusal("Linux", "amd64", GLIBC + "7f 0 /usr/lib/jvm/lib/libjsig.so\n");
        assertTrue(jsig.contains("libjsig") && jsig.contains("LD_PRELOAD"), jsig);
        for (String sentence : new String[] {musl, jsig}) {
            assertFalse(sentence.contains("\n"), "one sentence");
        }
    }

    @Test
    void wrongArchitecture() {
        assertNull(NativeFaults.elf(elf(62), 64, "amd64"));
        assertEquals("it was built for aarch64, not for amd64", NativeFaults.elf(elf(183), 64, "amd64"));
        byte[] cut = elf(62);
        cut[41] = 4; // the section table is at 1024
        assertEquals("it is cut off at 1000 bytes", NativeFaults.elf(cut, 1000, "amd64"));
        assertNull(NativeFaults.elf(cut, 2000, "amd64"));
        assertEquals("it was built for machine 3, not for amd64", NativeFaults.elf(elf(3), 64, "amd64"));
        assertEquals("it is not a Linux library", NativeFaults.elf(new byte[64], 64, "amd64"));
        assertEquals("it is not a Linux library", NativeFaults.elf(new byte[3], 3, "amd64"));
    }

    @Test
    void noexecIsFoundByMountOrByMessage() {
        String mounts = "/dev/a / ext4 rw 0 0\ntmpfs /tmp tmpfs rw,nosuid,noexec 0 0\n";
        assertTrue(NativeFaults.load("x", FILE, mounts).contains("noexec"));
        assertTrue(NativeFaults.load("failed to map segment from shared object", FILE, "").contains("noexec"));
        String inner = mounts + "/dev/b /tmp/tidemark-0 ext4 rw 0 0\n";
        assertEquals("x", NativeFaults.load("x", FILE, inner), "the innermost mount counts");
        assertEquals("x", NativeFaults.load("x", Path.of("/var/x.so"), mounts));
    }

    @Test
    void otherLinkerErrors() {
        assertTrue(NativeFaults.load("version `GLIBC_2.34' not found", FILE, "").contains("too old"));
        assertTrue(NativeFaults.load("cannot allocate memory in static TLS block", FILE, "").contains("thread-local"));
        assertEquals("", NativeFaults.load(null, FILE, ""));
        String prefix = NativeFaults.prefix("Linux", "amd64", FILE);
        assertTrue(prefix.contains(FILE.toString()) && prefix.contains("Linux/amd64"), prefix);
    }
}
