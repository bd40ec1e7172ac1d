package io.tidemark.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedByInterruptException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class OperationTest {
    private final FakeTransport transport = new FakeTransport();
    private final Operation operation = new Operation(transport, FakeTransport.INSTANCE);

    @AfterEach
    void clearInterrupt() {
        Thread.interrupted();
    }

    @Test
    void aResultIsReturned() throws Exception {
        assertEquals(Status.CORRUPT, operation.run(op -> Status.CORRUPT));
        assertTrue(transport.cancelled.isEmpty());
    }

    @Test
    void anEarlierInterruptCancelsBeforeTheCall() {
        Thread.currentThread().interrupt();
        assertThrows(ClosedByInterruptException.class, () -> operation.run(op -> {
            assertTrue(transport.cancelled.contains(op), "cancelled before the call");
            return Status.CANCELLED;
        }));
        assertTrue(Thread.currentThread().isInterrupted(), "the flag is kept");
    }

    @Test
    void aResultWinsOverALateInterrupt() throws Exception {
        assertEquals(Status.OK, operation.run(op -> {
            Thread.currentThread().interrupt();
            return Status.OK;
        }));
        assertTrue(Thread.currentThread().isInterrupted(), "the flag is kept");
    }

    @Test
    void anErrorOfGoWinsOverALateInterrupt() throws Exception {
        assertEquals(Status.CORRUPT, operation.run(op -> {
            Thread.currentThread().interrupt();
            return Status.CORRUPT;
        }));
    }

    @Test
    void anInterruptDuringTheCallEndsIt() throws Exception {
        transport.block = new CountDownLatch(1);
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        AtomicReference<Boolean> flag = new AtomicReference<>();
        Thread caller = new Thread(() -> {
            try {
                operation.run(op -> transport.copy(op, null, new byte[2][]));
            } catch (Throwable t) {
                thrown.set(t);
                flag.set(Thread.currentThread().isInterrupted());
            }
        });
        caller.start();
        transport.blocked.await();
        caller.interrupt();
        caller.join(10_000);
        assertFalse(caller.isAlive(), "the call did not end");
        assertInstanceOf(ClosedByInterruptException.class, thrown.get());
        assertTrue(flag.get(), "the flag is kept");
    }

    @Test
    void cancelFromAnotherThreadEndsTheCall() throws Exception {
        transport.block = new CountDownLatch(1);
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread caller = new Thread(() -> {
            try {
                operation.run(op -> transport.copy(op, null, new byte[2][]));
            } catch (Throwable t) {
                thrown.set(t);
            }
        });
        caller.start();
        transport.blocked.await();
        operation.cancel();
        caller.join(10_000);
        assertInstanceOf(AsynchronousCloseException.class, thrown.get());
        assertFalse(thrown.get() instanceof ClosedByInterruptException);
    }

    @Test
    void aThrowingCallStillEndsTheChannelAndFreeIsOnce() {
        assertThrows(IllegalStateException.class, () -> operation.run(op -> {
            throw new IllegalStateException("x");
        }));
        operation.free();
        operation.free();
        assertEquals(1, transport.freed.size());
    }

    @Test
    void anInterruptedCopyIsARemoteStorageExceptionWithTheCause() {
        FakeTransport go = new FakeTransport();
        Instance instance = Instance.open(go, 902, java.util.Map.of(), "4.0.2");
        go.block = new CountDownLatch(1);
        Thread.currentThread().interrupt();
        RemoteStorageException e = assertThrows(RemoteStorageException.class,
                () -> instance.copy(Samples.segment(), Samples.data()));
        assertInstanceOf(InterruptedException.class, e.getCause());
        assertTrue(Thread.interrupted(), "the flag is kept");
        assertEquals(1, go.freed.size(), "the operation is freed");
        instance.close();
    }
}
