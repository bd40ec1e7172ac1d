package io.tidemark.kafka;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.zip.CRC32C;

/** Calls every native method. Prints "ok NAME" per check and exits with 1 at the first that fails. */
final class Smoke {
    private static final int OK = 0;
    private static final int NOT_FOUND = 1;
    private static final int CORRUPT = 2;
    private static final int TRANSIENT = 6;
    private static final int CANCELLED = 7;
    private static final int INVALID = 8;
    private static final int CLOSED = 10;
    private static final int INTERNAL = 11;

    private static Path frames;
    private static byte[][] out = new byte[2][];
    private static long instance;

    private Smoke() {
    }

    public static void main(String[] args) throws Exception {
        frames = Path.of(args[1]);
        String before = blockedSignals();
        System.load(args[0]);
        check("mask", before.equals(blockedSignals()), before + " then " + blockedSignals());
        check("abi", Native.abi() == 1, "");
        setUp();
        calls();
        cancellation();
        streams();
        reports();
        new Panics(instance).run();
        nullChecks();
        tearDown();
        System.out.println("done");
    }

    private static void setUp() throws Exception {
        check("health before init", Native.health(out) == OK && text(out[0]).contains("version="), text(out[0]));
        expect("open before init", INVALID, Native.open(frame("open"), length("open"), new long[1], out));
        expect("init", OK, Native.init(frame("init"), length("init"), out));
        expect("init again", OK, Native.init(frame("init"), length("init"), out));
        expect("init with other values", INVALID, Native.init(frame("init-other"), length("init-other"), out));
        check("its text", text(out[1]).contains("native.slabs is 4, not 5"), text(out[1]));
        ByteBuffer[] slabs = Native.slabs();
        check("slabs", slabs.length == 4 && Arrays.stream(slabs).allMatch(s -> s.isDirect() && s.capacity() == 1 << 17),
                slabs.length + "");
        long[] inst = new long[1];
        expect("open refused", INVALID, Native.open(frame("open-refused"), length("open-refused"), inst, out));
        check("its text", text(out[1]).contains("refused: größer"), text(out[1]));
        expect("open", OK, Native.open(frame("open"), length("open"), inst, out));
        instance = inst[0];
        check("instance", instance > 0, instance + "");
    }

    private static void calls() throws Exception {
        long op = Native.opNew(instance);
        expect("copy", OK, Native.copy(op, frame("copy"), length("copy"), out));
        check("custom metadata", text(out[0]).equals("flights"), text(out[0]));
        ByteBuffer bad = frame("copy");
        for (int at = 0; at < bad.capacity(); at++) {
            bad.put(at, (byte) (bad.get(at) ^ 1));
            int status = Native.copy(op, bad, bad.capacity(), out);
            if (status != INVALID || crcOfError() != INVALID) {
                check("flipped byte " + at, false, status + "");
            }
            bad.put(at, (byte) (bad.get(at) ^ 1));
        }
        check("every flipped byte", true, "");
        expect("heap buffer", INVALID, Native.copy(op, ByteBuffer.allocate(64), 64, out));
        expect("no buffer", INVALID, Native.copy(op, null, 0, out));
        expect("length past the buffer", INVALID, Native.copy(op, frame("copy"), length("copy") + 1, out));
        expect("no operation", INVALID, Native.copy(0, frame("copy"), length("copy"), out));
        expect("short out array", NOT_FOUND, Native.copy(op, frame("copy-missing"), length("copy-missing"), new byte[1][]));
        expect("error of the instance", NOT_FOUND, Native.copy(op, frame("copy-missing"), length("copy-missing"), out));
        check("its text", text(out[1]).contains("object für \"/d/x.log\" is absent"), text(out[1]));
        expect("panic", INTERNAL, Native.copy(op, frame("copy-panic"), length("copy-panic"), out));
        check("its text", text(out[1]).contains("panic: scripted"), text(out[1]));
        expect("nil pointer in Go", INTERNAL, Native.copy(op, frame("copy-nil"), length("copy-nil"), out));
        expect("delete", OK, Native.delete(op, frame("delete"), length("delete"), out));
        expect("leadership", OK, Native.leadership(instance, frame("leadership"), length("leadership"), out));
        out[0] = null;
        expect("facts", OK, Native.call(op, frame("facts"), length("facts"), out));
        check("no reply", out[0] == null, "");
        expect("segments", OK, Native.call(op, frame("segments"), length("segments"), out));
        expect("wanted", OK, Native.call(op, frame("wanted"), length("wanted"), out));
        check("its reply", text(out[0]).contains("wanted"), text(out[0]));
        Native.opFree(op);
        Native.opFree(op);
        expect("copy after free", CLOSED, Native.copy(op, frame("copy"), length("copy"), out));
    }

    private static void cancellation() throws Exception {
        long op = Native.opNew(instance);
        expect("deadline", TRANSIENT, Native.copy(op, frame("copy-short"), length("copy-short"), out));
        drainLog();
        Thread cancel = new Thread(() -> {
            awaitLog("boundary.slow");
            Native.opCancel(op);
        });
        cancel.start();
        expect("cancel during", CANCELLED, Native.copy(op, frame("copy-slow"), length("copy-slow"), out));
        cancel.join();
        expect("cancel before", CANCELLED, Native.copy(op, frame("copy"), length("copy"), out));
        Native.opFree(op);
        Native.opCancel(op);
    }

    private static void streams() throws Exception {
        ByteBuffer[] slabs = Native.slabs();
        long[] opened = new long[2];
        long[] lent = new long[3];
        long op = Native.opNew(instance);
        expect("stream open", OK, Native.streamOpen(op, frame("stream"), length("stream"), opened, out));
        Native.opFree(op);
        check("total", opened[1] == 1_000_000, opened[1] + "");
        long n = 0;
        for (boolean more = true; more;) {
            int status = Native.streamNext(opened[0], lent, out);
            if (status != OK) {
                check("stream next", false, status + "");
            }
            ByteBuffer slab = slabs[(int) lent[0]].duplicate();
            for (int i = 0; i < lent[2]; i++, n++) {
                if (slab.get((int) lent[1] + i) != (byte) n) {
                    check("stream bytes", false, "at " + n);
                }
            }
            more = lent[2] > 0;
        }
        check("stream bytes", n == 1_000_000, n + "");
        Native.streamClose(opened[0]);
        Native.streamClose(opened[0]);
        expect("next after close", CLOSED, Native.streamNext(opened[0], lent, out));

        op = Native.opNew(instance);
        expect("short stream open", OK, Native.streamOpen(op, frame("stream-short"), length("stream-short"), opened, out));
        expect("short stream next", OK, Native.streamNext(opened[0], lent, out));
        expect("short stream end", CORRUPT, Native.streamNext(opened[0], lent, out));
        Native.streamClose(opened[0]);

        expect("slow stream open", OK, Native.streamOpen(op, frame("stream-slow"), length("stream-slow"), opened, out));
        drainLog();
        long stream = opened[0];
        Thread close = new Thread(() -> {
            awaitLog("boundary.slow");
            Native.streamClose(stream);
        });
        close.start();
        expect("close during read", CLOSED, Native.streamNext(stream, lent, out));
        close.join();
        Native.opFree(op);
    }

    private static void reports() {
        Native.logLevel(1);
        expect("metrics schema", OK, Native.metricsSchema(instance, out));
        byte[] schema = out[0];
        expect("metrics", OK, Native.metrics(instance, out));
        ByteBuffer values = ByteBuffer.wrap(out[0]).order(ByteOrder.LITTLE_ENDIAN);
        CRC32C crc = new CRC32C();
        crc.update(schema);
        check("schema hash", values.getInt() == (int) crc.getValue(), "");
        String[] lines = text(schema).split("\n");
        boolean found = false;
        for (String line : lines) {
            double v = values.getDouble();
            found |= line.equals("tidemark_scripted\tk=v\twhat the test scripts") && v == 42;
        }
        check("metrics value", found && !values.hasRemaining(), text(schema));
        expect("health", OK, Native.health(out));
        String health = text(out[0]);
        for (String part : new String[] {"panics=2\n", "slabs=4\n", "slabs_in_use=0\n", "streams=0\n", "operations=0\n",
            "runtime=inprocess\n", "signal_handlers_without_onstack=0\n"}) {
            check("health " + part.trim(), health.contains(part), health);
        }
    }

    /** HotSpot turns faults of its own code into NullPointerExceptions: its handler must still be reached. */
    private static void nullChecks() {
        int caught = 0;
        for (int i = 0; i < 200_000; i++) {
            String s = i % 2 == 0 ? null : "x";
            try {
                caught += s.length() - 1;
            } catch (NullPointerException e) {
                caught++;
            }
        }
        check("null checks", caught == 100_000, caught + "");
        try {
            recurse(0);
        } catch (StackOverflowError e) {
            check("stack overflow", true, "");
        }
    }

    private static int recurse(int depth) {
        return recurse(depth + 1) + 1;
    }

    private static void tearDown() throws Exception {
        expect("close", OK, Native.close(instance, 5_000, out));
        expect("close twice", CLOSED, Native.close(instance, 5_000, out));
        long op = Native.opNew(instance);
        expect("copy after close", CLOSED, Native.copy(op, frame("copy"), length("copy"), out));
        Native.opFree(op);
    }

    // ---- the log

    private static void drainLog() {
        for (byte[] b = Native.logPoll(1 << 18, 0); b.length > 0; b = Native.logPoll(1 << 18, 0)) {
            Thread.onSpinWait();
        }
    }

    private static void awaitLog(String event) {
        while (!text(Native.logPoll(1 << 18, 1_000)).contains(event)) {
            Thread.onSpinWait();
        }
    }

    // ---- helpers

    static ByteBuffer frame(String name) throws Exception {
        byte[] bytes = Files.readAllBytes(frames.resolve(name));
        return ByteBuffer.allocateDirect(bytes.length).put(bytes).flip();
    }

    static int length(String name) throws Exception {
        return (int) Files.size(frames.resolve(name));
    }

    /** The status in the error frame, if its checksum holds; else -1. */
    private static int crcOfError() {
        ByteBuffer f = ByteBuffer.wrap(out[1]).order(ByteOrder.LITTLE_ENDIAN);
        CRC32C crc = new CRC32C();
        crc.update(out[1], 0, 8);
        crc.update(out[1], 12, out[1].length - 12);
        return f.getInt(8) == (int) crc.getValue() && f.getShort(12) == 100 ? INVALID : -1;
    }

    static String text(byte[] b) {
        return b == null ? "" : new String(b, StandardCharsets.UTF_8);
    }

    private static String blockedSignals() throws Exception {
        for (String line : Files.readAllLines(Path.of("/proc/thread-self/status"))) {
            if (line.startsWith("SigBlk:")) {
                return line;
            }
        }
        return "";
    }

    private static void expect(String name, int want, int got) {
        check(name, want == got, "status " + got + ", want " + want + " " + text(out[1]));
    }

    static void check(String name, boolean ok, String detail) {
        if (!ok) {
            System.out.println("FAILED " + name + ": " + detail);
            System.exit(1);
        }
        System.out.println("ok " + name);
    }
}
