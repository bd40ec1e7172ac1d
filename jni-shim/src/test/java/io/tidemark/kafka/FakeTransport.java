package io.tidemark.kafka;

import io.tidemark.kafka.flatbuffers.FlatBufferBuilder;
import io.tidemark.kafka.wire.ErrorReply;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** A Go side by script: fixed answers, one stream cut into lent ranges, and a record of what was called. */
class FakeTransport implements Transport {
    static final long INSTANCE = 7;

    final List<String> calls = Collections.synchronizedList(new ArrayList<>());
    final Set<Long> cancelled = Collections.synchronizedSet(new HashSet<>());
    final Set<Long> freed = Collections.synchronizedSet(new HashSet<>());
    final Set<Long> closedStreams = Collections.synchronizedSet(new HashSet<>());
    final ByteBuffer[] slabs = {ByteBuffer.allocateDirect(64), ByteBuffer.allocateDirect(64)};

    int status = Status.OK;
    String message = "";
    byte[] reply = new byte[0];
    long total;
    byte[] content = new byte[0];
    int rangeSize = 16;
    int failNextAfter = -1; // ranges before a next answers with status
    long[] lieAboutNext; // answered instead of what is right
    CountDownLatch block; // when set, a next or call waits for cancellation of its operation
    final CountDownLatch blocked = new CountDownLatch(1);

    private long lastOperation;
    private int sent;
    private int ranges;

    static byte[] error(int status, String message) {
        FlatBufferBuilder b = Frame.builder();
        int text = b.createString(message);
        int object = b.createString("");
        ByteBuffer frame = Frame.finish(b, ErrorReply.createErrorReply(b, status, text, object), Frame.ERROR_REPLY);
        byte[] bytes = new byte[frame.capacity()];
        frame.get(0, bytes);
        return bytes;
    }

    private int answer(String call, byte[][] out) {
        calls.add(call);
        if (block != null) {
            blocked.countDown();
            await(block);
            if (cancelled.contains(lastOperation)) {
                return Status.CANCELLED;
            }
        }
        if (status != Status.OK) {
            out[1] = error(status, message);
        } else {
            out[0] = reply;
        }
        return status;
    }

    private static void await(CountDownLatch latch) {
        boolean interrupted = false; // a native call does not notice an interrupt
        while (true) {
            try {
                if (!latch.await(10, TimeUnit.SECONDS)) {
                    throw new AssertionError("nobody cancelled the call");
                }
                break;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public int open(ByteBuffer request, long[] instance, byte[][] out) {
        instance[0] = INSTANCE;
        return answer("open", out);
    }

    @Override
    public int close(long instance, int deadlineMs, byte[][] out) {
        calls.add("close");
        return Status.OK;
    }

    @Override
    public long opNew(long instance) {
        return ++lastOperation;
    }

    @Override
    public void opCancel(long operation) {
        cancelled.add(operation);
        if (block != null) {
            block.countDown();
        }
    }

    @Override
    public void opFree(long operation) {
        freed.add(operation);
    }

    @Override
    public int copy(long operation, ByteBuffer request, byte[][] out) {
        return answer("copy", out);
    }

    @Override
    public int streamOpen(long operation, ByteBuffer request, long[] streamAndTotal, byte[][] out) {
        calls.add("streamOpen");
        if (status != Status.OK && failNextAfter < 0) {
            out[1] = error(status, message);
            return status;
        }
        streamAndTotal[0] = 100 + operation;
        streamAndTotal[1] = total;
        sent = 0;
        ranges = 0;
        return Status.OK;
    }

    @Override
    public int streamNext(long stream, long[] lent, byte[][] out) {
        if (closedStreams.contains(stream)) {
            return Status.CLOSED;
        }
        if (block != null) {
            return answer("next", out);
        }
        if (lieAboutNext != null) {
            System.arraycopy(lieAboutNext, 0, lent, 0, 3);
            return Status.OK;
        }
        if (failNextAfter >= 0 && ranges >= failNextAfter) {
            out[1] = error(status, message);
            return status;
        }
        int index = ranges % 2;
        int from = ranges % 3;
        int n = Math.min(rangeSize, content.length - sent);
        slabs[index].put(from, content, sent, n);
        sent += n;
        ranges++;
        lent[0] = index;
        lent[1] = from;
        lent[2] = n;
        return Status.OK;
    }

    @Override
    public void streamClose(long stream) {
        closedStreams.add(stream);
    }

    @Override
    public int delete(long operation, ByteBuffer request, byte[][] out) {
        return answer("delete", out);
    }

    @Override
    public int leadership(long instance, ByteBuffer request, byte[][] out) {
        return answer("leadership", out);
    }

    @Override
    public int call(long operation, ByteBuffer request, byte[][] out) {
        return answer("call " + request.getShort(12), out);
    }

    @Override
    public int metricsSchema(long instance, byte[][] out) {
        return Status.CLOSED;
    }

    @Override
    public int metrics(long instance, byte[][] out) {
        return Status.CLOSED;
    }

    @Override
    public ByteBuffer[] slabs() {
        return slabs;
    }
}
