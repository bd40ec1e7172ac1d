package io.tidemark.kafka;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

class HandleGuardTest {
    @Test
    void nobodyEntersAfterClose() {
        HandleGuard guard = new HandleGuard();
        assertTrue(guard.enter());
        assertTrue(guard.close());
        assertFalse(guard.close(), "only the first close is told that it closed");
        assertFalse(guard.enter());
        assertTrue(guard.isClosed());
    }

    @Test
    void theCloserWaitsForThoseInside() throws Exception {
        HandleGuard guard = new HandleGuard();
        assertTrue(guard.enter());
        assertTrue(guard.enter());
        guard.close();
        assertFalse(guard.awaitIdle(10), "two are inside");
        guard.exit();
        CountDownLatch waiting = new CountDownLatch(1);
        AtomicBoolean idle = new AtomicBoolean();
        Thread closer = new Thread(() -> {
            waiting.countDown();
            try {
                idle.set(guard.awaitIdle(10_000));
            } catch (InterruptedException e) {
                idle.set(false);
            }
        });
        closer.start();
        assertTrue(waiting.await(10, TimeUnit.SECONDS));
        guard.exit();
        closer.join(10_000);
        assertTrue(idle.get());
    }
}
