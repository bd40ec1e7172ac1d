package io.tidemark.kafka;

import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.spi.AbstractInterruptibleChannel;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * One cancellable call, or one stream with its calls. {@code Thread.interrupt} cannot wake a native call by itself;
 * as an interruptible channel this object is told of the interrupt and cancels the Go context.
 */
final class Operation extends AbstractInterruptibleChannel {
    /** A native call; the result is a {@link Status}. */
    interface Call {
        int run(long operation);
    }

    private final Transport transport;
    private final long handle;
    private final AtomicBoolean freed = new AtomicBoolean();

    Operation(Transport transport, long instance) {
        this.transport = transport;
        this.handle = transport.opNew(instance);
    }

    /**
     * Runs the call. A result that is complete wins over an interrupt that came late: it is returned and the
     * thread's interrupt flag stays set. Otherwise the exception of an interrupted or closed channel is thrown.
     */
    int run(Call call) throws AsynchronousCloseException {
        int status = Status.CANCELLED;
        AsynchronousCloseException cancelled = null;
        begin();
        try {
            status = call.run(handle);
        } finally {
            try {
                end(status != Status.CANCELLED);
            } catch (AsynchronousCloseException e) {
                cancelled = e;
            }
        }
        if (cancelled != null && status == Status.CANCELLED) {
            throw cancelled;
        }
        return status;
    }

    /** Cancels the call, if one is running, and every later one. Never blocks. */
    void cancel() {
        try {
            close();
        } catch (java.io.IOException e) {
            throw new IllegalStateException(e); // implCloseChannel throws none
        }
    }

    void free() {
        if (freed.compareAndSet(false, true)) {
            transport.opFree(handle);
        }
    }

    @Override
    protected void implCloseChannel() {
        transport.opCancel(handle);
    }
}
