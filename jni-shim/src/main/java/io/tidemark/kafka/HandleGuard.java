package io.tidemark.kafka;

/**
 * Lets calls into an instance until it is closed, and lets the closer wait for those inside. Needed because Kafka 4.0
 * and 4.1 close the plugin before they stop the threads that use it.
 */
final class HandleGuard {
    private int inside;
    private boolean closed;

    /** False after {@link #close}; true must be paired with {@link #exit}. */
    synchronized boolean enter() {
        if (closed) {
            return false;
        }
        inside++;
        return true;
    }

    synchronized void exit() {
        inside--;
        if (inside == 0) {
            notifyAll();
        }
    }

    /** True for the one caller that closed it. */
    synchronized boolean close() {
        boolean first = !closed;
        closed = true;
        return first;
    }

    synchronized boolean isClosed() {
        return closed;
    }

    /** Waits until nobody is inside; false when that took longer than the time given. */
    synchronized boolean awaitIdle(long millis) throws InterruptedException {
        long deadline = System.nanoTime() + millis * 1_000_000L;
        while (inside > 0) {
            long left = (deadline - System.nanoTime()) / 1_000_000L;
            if (left <= 0) {
                return false;
            }
            wait(left);
        }
        return true;
    }
}
