package io.tidemark.kafka;

import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.Cleaner;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The bytes of a segment or index, from slabs that Go lends. Exactly {@code total} bytes come, or an exception:
 * after a short stream the broker would skip to the next segment without a word.
 */
final class SegmentStream extends InputStream {
    private static final Logger LOG = LoggerFactory.getLogger(SegmentStream.class);
    private static final Cleaner CLEANER = Cleaner.create();
    private static final AtomicLong LEAKED = new AtomicLong();

    private final Object monitor = new Object();
    private final Transport transport;
    private final HandleGuard guard;
    private final Operation operation;
    private final Handle handle;
    private final Cleaner.Cleanable cleanable;
    private final long[] lent = new long[3];
    private final byte[][] out = new byte[2][];

    private volatile boolean closed;
    private long unlent; // bytes not yet lent by Go
    private ByteBuffer slab; // position and limit are kept beside it: the buffer is shared by all streams
    private int position;
    private int limit;
    private Failure failure;

    SegmentStream(Transport transport, HandleGuard guard, Operation operation, long stream, long total) {
        this.transport = transport;
        this.guard = guard;
        this.operation = operation;
        this.unlent = total;
        this.handle = new Handle(transport, operation, stream);
        this.cleanable = CLEANER.register(this, handle);
    }

    /** Streams that were dropped without being closed, since the start of the process. */
    static long leaked() {
        return LEAKED.get();
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] into, int offset, int length) throws IOException {
        Objects.checkFromIndexSize(offset, length, into.length);
        if (length == 0) {
            return 0;
        }
        synchronized (monitor) {
            ensureOpen();
            if (position == limit && !next()) {
                return -1;
            }
            int n = Math.min(length, limit - position);
            slab.get(position, into, offset, n);
            ensureOpen(); // the slab may have been taken back during the copy
            position += n;
            return n;
        }
    }

    @Override
    public long skip(long count) throws IOException {
        synchronized (monitor) {
            long left = Math.max(count, 0);
            while (left > 0) {
                ensureOpen();
                if (position == limit && !next()) {
                    break;
                }
                int n = (int) Math.min(left, limit - position);
                position += n;
                left -= n;
            }
            return Math.max(count, 0) - left;
        }
    }

    @Override
    public int available() throws IOException {
        synchronized (monitor) {
            ensureOpen();
            return limit - position;
        }
    }

    /** May be called from another thread while a read is waiting: the read is cancelled and fails. */
    @Override
    public void close() {
        closed = true;
        operation.cancel();
        synchronized (monitor) {
            handle.dropped = false;
            slab = null;
            cleanable.clean();
        }
    }

    /** Why reading failed, or null. */
    Failure failure() {
        synchronized (monitor) {
            return failure;
        }
    }

    private void ensureOpen() throws IOException {
        if (closed) {
            throw new IOException("Closed: the stream is closed");
        }
        if (guard.isClosed()) {
            throw Failure.closed().forRead();
        }
        if (failure != null) {
            throw failure.forRead();
        }
    }

    /** Gets the next range; false at the end of the stream. Any failure is final. */
    private boolean next() throws IOException {
        if (unlent == 0) {
            return false;
        }
        if (!guard.enter()) {
            throw Failure.closed().forRead();
        }
        try {
            out[1] = null;
            int status = operation.run(op -> transport.streamNext(handle.stream, lent, out));
            if (status != Status.OK) {
                throw fail(Failure.of(status, out[1]));
            }
        } catch (AsynchronousCloseException e) {
            throw fail(new Failure(Status.CANCELLED, "reading the remote segment was cancelled"));
        } finally {
            guard.exit();
        }
        accept();
        return true;
    }

    private void accept() throws IOException {
        ByteBuffer[] slabs = transport.slabs();
        long index = lent[0];
        long from = lent[1];
        long length = lent[2];
        if (length == 0) {
            throw fail(new Failure(Status.CORRUPT, "the remote segment ended " + unlent + " bytes early"));
        }
        if (index < 0 || index >= slabs.length || from < 0 || length < 0 || length > unlent
                || from > slabs[(int) index].capacity() - length) {
            throw fail(new Failure(Status.INTERNAL, "the native library lent bytes outside of a slab"));
        }
        slab = slabs[(int) index];
        position = (int) from;
        limit = (int) (from + length);
        unlent -= length;
    }

    private IOException fail(Failure f) {
        failure = f;
        slab = null;
        position = 0;
        limit = 0;
        return f.forRead();
    }

    /** What must be given back, also when the broker forgets to close. */
    private static final class Handle implements Runnable {
        private final Transport transport;
        private final Operation operation;
        private final long stream;
        private volatile boolean dropped = true;

        Handle(Transport transport, Operation operation, long stream) {
            this.transport = transport;
            this.operation = operation;
            this.stream = stream;
        }

        @Override
        public void run() {
            if (dropped) {
                LEAKED.incrementAndGet();
                LOG.warn("a stream of a remote segment was dropped without being closed");
            }
            transport.streamClose(stream);
            operation.free();
        }
    }
}
