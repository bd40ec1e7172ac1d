package io.tidemark.kafka;

import java.nio.ByteBuffer;

/**
 * How a framed request reaches Go. Results are {@link Status} numbers; handles are numbers with a generation, so a
 * stale one is answered {@link Status#CLOSED} and never followed.
 */
interface Transport {
    int open(ByteBuffer request, long[] instance, byte[][] out);

    int close(long instance, int deadlineMs, byte[][] out);

    long opNew(long instance);

    /** Legal before, during and after the call; never blocks. */
    void opCancel(long operation);

    void opFree(long operation);

    int copy(long operation, ByteBuffer request, byte[][] out);

    int streamOpen(long operation, ByteBuffer request, long[] streamAndTotal, byte[][] out);

    /** Lends the next filled range of a slab and takes back the previous one; length 0 is the end. */
    int streamNext(long stream, long[] slabOffsetLength, byte[][] out);

    void streamClose(long stream);

    int delete(long operation, ByteBuffer request, byte[][] out);

    int leadership(long instance, ByteBuffer request, byte[][] out);

    int call(long operation, ByteBuffer request, byte[][] out);

    int metricsSchema(long instance, byte[][] out);

    int metrics(long instance, byte[][] out);

    /** The memory that streams lend from, one buffer per slab, never unmapped. */
    ByteBuffer[] slabs();
}
