package io.tidemark.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.zip.CRC32;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NativeFilesTest {
    @TempDir
    Path folder;

    private final Map<String, byte[]> jar = new HashMap<>();

    private NativeFiles files(String content) throws Exception {
        byte[] bytes = content.getBytes(StandardCharsets.US_ASCII);
        String sha = HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        CRC32 crc = new CRC32();
        crc.update(bytes);
        jar.put("lib.so", bytes);
        jar.put("native.properties", String.format("version=0.1.0%nabi=1%nsha256.lib.so=%s%ncrc32.lib.so=%08x%n", sha,
                crc.getValue()).getBytes(StandardCharsets.US_ASCII));
        return new NativeFiles(name -> jar.containsKey(name) ? new ByteArrayInputStream(jar.get(name)) : null);
    }

    @Test
    void extractsOnceAndVerifiesEveryTime() throws Exception {
        NativeFiles files = files("library");
        Path file = files.extract("lib.so", folder);
        assertEquals(folder.resolve("0.1.0-" + files.sha256("lib.so")).resolve("lib.so"), file);
        assertEquals("library", Files.readString(file));
        assertTrue(Files.isExecutable(file));
        Object inode = Files.getAttribute(file, "unix:ino");
        assertEquals(file, files.extract("lib.so", folder));
        assertEquals(inode, Files.getAttribute(file, "unix:ino"), "extracted again without need");

        Files.writeString(file, "librarz"); // as long as it was
        assertEquals("library", Files.readString(files.extract("lib.so", folder)), "a damaged file is replaced");
        Files.writeString(file, "libbrary");
        assertEquals("library", Files.readString(files.extract("lib.so", folder)), "a damaged file is replaced");
        try (var left = Files.list(file.getParent())) {
            assertEquals(1, left.count(), "no temporary file is left");
        }
    }

    @Test
    void aCorruptedJarIsNamed() throws Exception {
        NativeFiles files = files("library");
        jar.put("lib.so", "librarx".getBytes(StandardCharsets.US_ASCII));
        IOException e = assertThrows(IOException.class, () -> files.extract("lib.so", folder));
        assertTrue(e.getMessage().contains("lib.so in the jar is corrupted"), e.getMessage());
        try (var left = Files.walk(folder)) {
            assertEquals(0, left.filter(Files::isRegularFile).count(), "nothing is left behind");
        }
    }

    @Test
    void whatTheJarLacksIsSaid() throws Exception {
        NativeFiles files = files("library");
        assertTrue(assertThrows(IOException.class, () -> files.extract("other", folder)).getMessage()
                .contains("does not list other"));
        jar.remove("lib.so");
        assertTrue(assertThrows(IOException.class, () -> files.extract("lib.so", folder)).getMessage()
                .contains("does not hold lib.so"));
        assertThrows(IOException.class, () -> new NativeFiles(name -> null));
    }
}
