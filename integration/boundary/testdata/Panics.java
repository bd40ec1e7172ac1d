package io.tidemark.kafka;

import java.nio.ByteBuffer;

/** Lets each export panic once: the call ends with Internal or with nothing, the JVM lives, and the next call is as if nothing was. */
final class Panics {
    private static final int OK = 0;
    private static final int INVALID = 8;
    private static final int INTERNAL = 11;

    private final long instance;
    private final long[] numbers = new long[3];
    private final byte[][] out = new byte[2][];
    private long op;
    private long stream;

    /** A call that answers with a status. */
    private interface Call {
        int run() throws Exception;
    }

    /** A call that cannot tell an error: whether it did its work. */
    private interface Work {
        boolean done() throws Exception;
    }

    /** A native method whose first argument is a request. */
    private interface Request {
        int send(ByteBuffer frame, int length) throws Exception;
    }

    Panics(long instance) {
        this.instance = instance;
    }

    void run() throws Exception {
        op = Native.opNew(instance);
        status("tm_init", request("init", (f, n) -> Native.init(f, n, out)));
        opens();
        work("tm_slabs", () -> Native.slabs().length == 4);
        operations();
        status("tm_copy", request("copy", (f, n) -> Native.copy(op, f, n, out)));
        status("tm_delete", request("delete", (f, n) -> Native.delete(op, f, n, out)));
        status("tm_leadership", request("leadership", (f, n) -> Native.leadership(instance, f, n, out)));
        status("tm_call", request("segments", (f, n) -> Native.call(op, f, n, out)));
        streams();
        status("tm_metrics_schema", () -> Native.metricsSchema(instance, out));
        status("tm_metrics", () -> Native.metrics(instance, out));
        status("tm_health", () -> Native.health(out));
        work("tm_log_poll", () -> Native.logPoll(1 << 18, 0).length > 0);
        work("tm_log_level", () -> {
            Native.logLevel(1);
            return true;
        }, true);
        Native.opFree(op);
    }

    private void opens() throws Exception {
        status("tm_rsm_open", request("open", (f, n) -> Native.open(f, n, numbers, out)));
        long other = numbers[0];
        Smoke.check("another instance", other > 0 && other != instance, other + "");
        status("tm_rsm_close", () -> Native.close(other, 5_000, out));
    }

    private void operations() throws Exception {
        long[] made = new long[1];
        work("tm_op_new", () -> {
            made[0] = Native.opNew(instance);
            return made[0] != 0;
        });
        work("tm_op_cancel", () -> {
            Native.opCancel(made[0]);
            return Native.copy(made[0], Smoke.frame("copy"), Smoke.length("copy"), out) != OK;
        });
        work("tm_op_free", () -> {
            Native.opFree(made[0]);
            Native.health(out);
            return Smoke.text(out[0]).contains("operations=1\n");
        });
    }

    private void streams() throws Exception {
        status("tm_stream_open", request("stream", (f, n) -> Native.streamOpen(op, f, n, numbers, out)));
        stream = numbers[0];
        status("tm_stream_next", () -> Native.streamNext(stream, numbers, out));
        work("tm_stream_close", () -> {
            Native.streamClose(stream);
            Native.health(out);
            return Smoke.text(out[0]).contains("streams=0\n");
        });
    }

    private static Call request(String frame, Request r) {
        return () -> r.send(Smoke.frame(frame), Smoke.length(frame));
    }

    private void arm(String export) throws Exception {
        String frame = "panic-" + export;
        int status = Native.open(Smoke.frame(frame), Smoke.length(frame), new long[1], out);
        Smoke.check("armed " + export, status == INVALID, "status " + status);
    }

    private void status(String export, Call call) throws Exception {
        arm(export);
        int status = call.run();
        String text = Smoke.text(out[1]);
        Smoke.check("its error", status == INTERNAL && text.contains("panic: scripted in " + export), export + ": status " + status + " " + text);
        status = call.run();
        Smoke.check("panic in " + export, status == OK, "the next call: status " + status + " " + Smoke.text(out[1]));
    }

    private void work(String export, Work work) throws Exception {
        work(export, work, false);
    }

    /** With untold, nothing of the call can be seen but that it returns. */
    private void work(String export, Work work, boolean untold) throws Exception {
        int panics = panics();
        arm(export);
        Smoke.check("no work of " + export, work.done() == untold, "it did its work although it panicked");
        Smoke.check("its count", panics() == panics + 1, export + ": " + panics + " panics, then " + panics());
        Smoke.check("panic in " + export, work.done(), "the next call did not do its work");
    }

    private int panics() {
        Native.health(out);
        for (String line : Smoke.text(out[0]).split("\n")) {
            if (line.startsWith("panics=")) {
                return Integer.parseInt(line.substring(7));
            }
        }
        return -1;
    }
}
