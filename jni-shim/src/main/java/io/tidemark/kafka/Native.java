package io.tidemark.kafka;

import java.nio.ByteBuffer;

/**
 * The exports of the native library. Every {@code int} result is a {@link Status}; {@code out[0]} is the reply,
 * {@code out[1]} a framed error. Request buffers are direct, start at the frame and are read during the call only.
 * {@link NativeLibrary} must have loaded the library first.
 */
final class Native {
    private Native() {
    }

    static native int abi();

    static native int init(ByteBuffer request, int length, byte[][] out);

    static native ByteBuffer[] slabs();

    static native int open(ByteBuffer request, int length, long[] instance, byte[][] out);

    static native int close(long instance, int deadlineMs, byte[][] out);

    static native long opNew(long instance);

    static native void opCancel(long operation);

    static native void opFree(long operation);

    static native int copy(long operation, ByteBuffer request, int length, byte[][] out);

    static native int streamOpen(long operation, ByteBuffer request, int length, long[] streamAndTotal,
            byte[][] err);

    static native int streamNext(long stream, long[] slabOffsetLength, byte[][] err);

    static native void streamClose(long stream);

    static native int delete(long operation, ByteBuffer request, int length, byte[][] out);

    static native int leadership(long instance, ByteBuffer request, int length, byte[][] out);

    static native int call(long operation, ByteBuffer request, int length, byte[][] out);

    static native byte[] logPoll(int maxBytes, int waitMs);

    static native void logLevel(int level);

    static native int metricsSchema(long instance, byte[][] out);

    static native int metrics(long instance, byte[][] out);

    static native int health(byte[][] out);
}
