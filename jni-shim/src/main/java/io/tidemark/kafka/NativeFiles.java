package io.tidemark.kafka;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Properties;
import java.util.Set;
import java.util.zip.CRC32;

/**
 * The native files inside the jar, and their extraction: {@code <folder>/<version>-<sha256>/<file>}, verified at every
 * start, put in place by a rename. An extracted file is never written to again, because a running process maps it.
 *
 * <p>What comes out of the jar is compared with its SHA-256. A file that was extracted before is compared with its
 * CRC-32, which finds damage: in a JVM that has just started, the other takes longer than everything else here.
 */
final class NativeFiles {
    private static final String ROOT = "/META-INF/native/tidemark/";
    private static final String FOLDER = "tidemark.native.dir";
    private static final Set<PosixFilePermission> PRIVATE = PosixFilePermissions.fromString("rwx------");

    private final ResourceOpener resources;
    private final Properties properties;

    /** Opens a file of the platform's folder; null when there is none. */
    interface ResourceOpener {
        InputStream open(String file) throws IOException;
    }

    NativeFiles(ResourceOpener resources) throws IOException {
        this.resources = resources;
        this.properties = new Properties();
        try (InputStream in = resources.open("native.properties")) {
            if (in == null) {
                throw new IOException("the jar holds no native files");
            }
            properties.load(in);
        }
    }

    /** Those of the jar that this class came from. Needs neither Kafka nor SLF4J, for {@link Main}. */
    static NativeFiles of(String platform) throws IOException {
        return new NativeFiles(file -> NativeFiles.class.getResourceAsStream(ROOT + platform + "/" + file));
    }

    String version() {
        return properties.getProperty("version", "");
    }

    String sha256(String file) {
        return properties.getProperty("sha256." + file, "");
    }

    /** The extracted file. */
    Path extract(String file) throws IOException {
        return extract(file, folder());
    }

    Path extract(String file, Path folder) throws IOException {
        String sha = sha256(file);
        if (sha.isEmpty()) {
            throw new IOException("the jar does not list " + file);
        }
        Path home = folder.resolve(version() + "-" + sha);
        Path target = home.resolve(file);
        String crc = properties.getProperty("crc32." + file, "");
        if (Files.isRegularFile(target, LinkOption.NOFOLLOW_LINKS) && !crc.isEmpty() && crc.equals(crc32(target))) {
            return target;
        }
        Files.createDirectories(home);
        Path temp = Files.createTempFile(home, "." + file, ".tmp", PosixFilePermissions.asFileAttribute(PRIVATE));
        try {
            write(file, temp);
            if (!sha.equals(digest(temp))) {
                throw new IOException(file + " in the jar is corrupted: its SHA-256 is not the one the jar lists; "
                        + "fetch the jar again");
            }
            Files.move(temp, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } finally {
            Files.deleteIfExists(temp);
        }
        return target;
    }

    private void write(String file, Path temp) throws IOException {
        try (InputStream in = resources.open(file);
                FileChannel out = FileChannel.open(temp, StandardOpenOption.WRITE)) {
            if (in == null) {
                throw new IOException("the jar does not hold " + file);
            }
            byte[] block = new byte[1 << 16];
            for (int n = in.read(block); n >= 0; n = in.read(block)) {
                ByteBuffer bytes = ByteBuffer.wrap(block, 0, n);
                while (bytes.hasRemaining()) {
                    out.write(bytes);
                }
            }
            out.force(true);
        }
    }

    /** The folder named by the operator, or one of this user's own that no other user can write to. */
    private static Path folder() throws IOException {
        String named = System.getProperty(FOLDER);
        if (named != null) {
            Path folder = Path.of(named).toAbsolutePath();
            Files.createDirectories(folder);
            return folder;
        }
        Object uid = Files.getAttribute(Path.of("/proc/self"), "unix:uid");
        Path folder = Path.of(System.getProperty("java.io.tmpdir")).toAbsolutePath().resolve("tidemark-" + uid);
        if (!Files.exists(folder, LinkOption.NOFOLLOW_LINKS)) {
            try {
                Files.createDirectory(folder, PosixFilePermissions.asFileAttribute(PRIVATE));
            } catch (java.nio.file.FileAlreadyExistsException e) {
                // another process of this user was first; checked below like any other
            }
        }
        if (!Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS)
                || !uid.equals(Files.getAttribute(folder, "unix:uid", LinkOption.NOFOLLOW_LINKS))
                || !PRIVATE.equals(Files.getPosixFilePermissions(folder, LinkOption.NOFOLLOW_LINKS))) {
            throw new IOException(folder + " must be a directory that only this user may write to (mode 0700); "
                    + "remove it or name another folder with -D" + FOLDER);
        }
        return folder;
    }

    private static String crc32(Path file) throws IOException {
        CRC32 crc = new CRC32();
        try (InputStream in = Files.newInputStream(file)) {
            byte[] block = new byte[1 << 18];
            for (int n = in.read(block); n >= 0; n = in.read(block)) {
                crc.update(block, 0, n);
            }
        }
        return String.format("%08x", crc.getValue());
    }

    private static String digest(Path file) throws IOException {
        MessageDigest digest;
        try {
            digest = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IOException(e);
        }
        try (InputStream in = Files.newInputStream(file)) {
            byte[] block = new byte[1 << 16];
            for (int n = in.read(block); n >= 0; n = in.read(block)) {
                digest.update(block, 0, n);
            }
        }
        return HexFormat.of().formatHex(digest.digest());
    }
}
