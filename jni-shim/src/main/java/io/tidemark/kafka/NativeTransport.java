package io.tidemark.kafka;

import java.nio.ByteBuffer;

/** The transport into the library loaded in this process. */
final class NativeTransport implements Transport {
    private final ByteBuffer[] slabs = Native.slabs();

    @Override
    public int open(ByteBuffer request, long[] instance, byte[][] out) {
        return Native.open(request, request.capacity(), instance, out);
    }

    @Override
    public int close(long instance, int deadlineMs, byte[][] out) {
        return Native.close(instance, deadlineMs, out);
    }

    @Override
    public long opNew(long instance) {
        return Native.opNew(instance);
    }

    @Override
    public void opCancel(long operation) {
        Native.opCancel(operation);
    }

    @Override
    public void opFree(long operation) {
        Native.opFree(operation);
    }

    @Override
    public int copy(long operation, ByteBuffer request, byte[][] out) {
        return Native.copy(operation, request, request.capacity(), out);
    }

    @Override
    public int streamOpen(long operation, ByteBuffer request, long[] streamAndTotal, byte[][] out) {
        return Native.streamOpen(operation, request, request.capacity(), streamAndTotal, out);
    }

    @Override
    public int streamNext(long stream, long[] slabOffsetLength, byte[][] out) {
        return Native.streamNext(stream, slabOffsetLength, out);
    }

    @Override
    public void streamClose(long stream) {
        Native.streamClose(stream);
    }

    @Override
    public int delete(long operation, ByteBuffer request, byte[][] out) {
        return Native.delete(operation, request, request.capacity(), out);
    }

    @Override
    public int leadership(long instance, ByteBuffer request, byte[][] out) {
        return Native.leadership(instance, request, request.capacity(), out);
    }

    @Override
    public int call(long operation, ByteBuffer request, byte[][] out) {
        return Native.call(operation, request, request.capacity(), out);
    }

    @Override
    public int metricsSchema(long instance, byte[][] out) {
        return Native.metricsSchema(instance, out);
    }

    @Override
    public int metrics(long instance, byte[][] out) {
        return Native.metrics(instance, out);
    }

    @Override
    public ByteBuffer[] slabs() {
        return slabs;
    }
}
