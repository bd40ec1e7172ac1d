package io.tidemark.kafka;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Carries the log records of Go to SLF4J, and the broker's log level to Go. */
final class LogBridge implements Runnable {
    /** The parent of all our loggers; its level is the level of Go. */
    static final String ROOT = "io.tidemark";

    private static final int DEBUG = 0;
    private static final int INFO = 1;
    private static final int WARN = 2;
    private static final int ERROR = 3;
    private static final int BATCH = 256 << 10;
    private static final int WAIT_MS = 1_000;
    private static final long LEVEL_EVERY_NANOS = 5_000_000_000L;
    private static final long BACK_OFF_MS = 1_000;

    private LogBridge() {
    }

    static void start() {
        Thread thread = new Thread(new LogBridge(), "tidemark-log");
        thread.setDaemon(true);
        thread.start();
    }

    /** The level that the broker's logging configuration asks for. */
    static int level() {
        Logger root = LoggerFactory.getLogger(ROOT);
        if (root.isDebugEnabled()) {
            return DEBUG;
        }
        if (root.isInfoEnabled()) {
            return INFO;
        }
        return root.isWarnEnabled() ? WARN : ERROR;
    }

    /** Passes on what is there now, so that the last lines before a stop are not lost. */
    static void drain() {
        while (forward(Native.logPoll(BATCH, 0)) > 0) {
            Thread.onSpinWait();
        }
    }

    @Override
    public void run() {
        int pushed = -1;
        long next = System.nanoTime();
        while (!Thread.currentThread().isInterrupted()) {
            try {
                if (System.nanoTime() - next >= 0) {
                    next = System.nanoTime() + LEVEL_EVERY_NANOS;
                    int level = level();
                    if (level != pushed) {
                        Native.logLevel(level);
                        pushed = level;
                    }
                }
                forward(Native.logPoll(BATCH, WAIT_MS));
            } catch (Throwable t) {
                LoggerFactory.getLogger(ROOT).error("forwarding the log of the native library failed", t);
                pause();
            }
        }
    }

    private static void pause() {
        try {
            Thread.sleep(BACK_OFF_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** The number of records in the batch. */
    private static int forward(byte[] batch) {
        if (batch == null) {
            return 0;
        }
        return forward(batch, (logger, level, message) -> write(LoggerFactory.getLogger(logger), level, message));
    }

    /** Takes one record. */
    interface Sink {
        void accept(String logger, int level, String message);
    }

    /** Cuts a batch into its records: u32 length of the rest, u8 level, u16 logger length, logger, message. */
    static int forward(byte[] batch, Sink sink) {
        ByteBuffer in = ByteBuffer.wrap(batch).order(ByteOrder.LITTLE_ENDIAN);
        int records = 0;
        while (in.hasRemaining()) {
            int length = in.getInt();
            if (length < 3 || length > in.remaining()) {
                throw new BufferUnderflowException();
            }
            int end = in.position() + length;
            int level = in.get();
            String logger = text(in, Math.min(in.getShort() & 0xffff, end - in.position()));
            String message = text(in, end - in.position());
            sink.accept(name(logger), level, message);
            records++;
        }
        return records;
    }

    private static String text(ByteBuffer in, int length) {
        String text = new String(in.array(), in.position(), length, StandardCharsets.UTF_8);
        in.position(in.position() + length);
        return text;
    }

    private static String name(String logger) {
        if (logger.isEmpty()) {
            return ROOT;
        }
        return logger.equals(ROOT) || logger.startsWith(ROOT + ".") ? logger : ROOT + "." + logger;
    }

    private static void write(Logger logger, int level, String message) {
        switch (level) {
            case DEBUG:
                logger.debug("{}", message);
                break;
            case INFO:
                logger.info("{}", message);
                break;
            case WARN:
                logger.warn("{}", message);
                break;
            default:
                logger.error("{}", message);
        }
    }
}
