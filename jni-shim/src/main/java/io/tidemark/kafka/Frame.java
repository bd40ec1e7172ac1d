package io.tidemark.kafka;

import io.tidemark.kafka.flatbuffers.FlatBufferBuilder;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/**
 * The frame around every message: magic, payload length, CRC32C, kind, version, correlation id; then the FlatBuffer.
 * Little-endian. FlatBuffers are not verified when read, so nothing of a frame is read before the checksum held.
 */
final class Frame {
    static final int HEADER = 24;
    static final int MAX_PAYLOAD = 1 << 20;
    static final int MAGIC = 0x31464d54; // "TMF1" in byte order
    static final short VERSION = 1;

    static final int INIT = 1;
    static final int OPEN = 2;
    static final int COPY = 3;
    static final int STREAM = 4;
    static final int DELETE = 5;
    static final int LEADERSHIP = 6;
    static final int FACTS = 7;
    static final int WANTED = 8;
    static final int SEGMENTS = 9;
    static final int STATES = 10;
    static final int ERROR_REPLY = 100;
    static final int WANTED_REPLY = 108;

    private static final int FIRST_CAPACITY = 64 << 10;

    /** Per thread, because a request buffer is in use for the whole call. */
    private static final ThreadLocal<FlatBufferBuilder> BUILDERS =
            ThreadLocal.withInitial(() -> new FlatBufferBuilder(FIRST_CAPACITY, new DirectBuffers()));

    private Frame() {
    }

    /** This thread's builder, empty. */
    static FlatBufferBuilder builder() {
        FlatBufferBuilder builder = BUILDERS.get();
        builder.clear();
        return builder;
    }

    /** Finishes the message and puts the frame in front of it. Valid until this thread builds its next message. */
    static ByteBuffer finish(FlatBufferBuilder builder, int root, int kind) {
        builder.finish(root);
        int length = builder.dataBuffer().remaining();
        if (length > MAX_PAYLOAD) {
            throw new MessageTooLarge();
        }
        builder.prep(1, HEADER); // a FlatBuffer grows downwards: room for the header before its first byte
        ByteBuffer whole = builder.dataBuffer(); // may be a new one: its position means nothing then
        ByteBuffer frame = whole.slice(whole.capacity() - length - HEADER, HEADER + length);
        frame.order(ByteOrder.LITTLE_ENDIAN);
        frame.putInt(0, MAGIC);
        frame.putInt(4, length);
        frame.putShort(12, (short) kind);
        frame.putShort(14, VERSION);
        frame.putLong(16, 0);
        frame.putInt(8, checksum(frame));
        return frame;
    }

    /** The FlatBuffer of a reply, or null when the frame does not hold together. */
    static ByteBuffer payload(byte[] bytes, int kind) {
        if (bytes == null || bytes.length < HEADER) {
            return null;
        }
        ByteBuffer frame = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        int length = frame.getInt(4);
        if (frame.getInt(0) != MAGIC || length < 0 || length > MAX_PAYLOAD || length != bytes.length - HEADER
                || (frame.getShort(12) & 0xffff) != kind || frame.getShort(14) != VERSION
                || frame.getInt(8) != checksum(frame)) {
            return null;
        }
        return frame.slice(HEADER, length).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static int checksum(ByteBuffer frame) {
        CRC32C crc = new CRC32C();
        crc.update(frame.slice(0, 8));
        crc.update(frame.slice(12, frame.capacity() - 12));
        return (int) crc.getValue();
    }

    /** A message over {@link #MAX_PAYLOAD}. */
    static final class MessageTooLarge extends RuntimeException {
        private static final long serialVersionUID = 1L;

        MessageTooLarge() {
            super("a message to the native library would be larger than " + MAX_PAYLOAD + " bytes");
        }
    }

    private static final class DirectBuffers extends FlatBufferBuilder.ByteBufferFactory {
        @Override
        public ByteBuffer newByteBuffer(int capacity) {
            // The builder doubles: the first capacity past the largest legal message is refused.
            if (capacity > 2 * MAX_PAYLOAD) {
                throw new MessageTooLarge();
            }
            return ByteBuffer.allocateDirect(capacity).order(ByteOrder.LITTLE_ENDIAN);
        }
    }
}
