package io.tidemark.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class LogBridgeTest {
    private static void put(ByteBuffer out, int level, String logger, String message) {
        byte[] name = logger.getBytes(StandardCharsets.UTF_8);
        byte[] text = message.getBytes(StandardCharsets.UTF_8);
        out.putInt(3 + name.length + text.length).put((byte) level).putShort((short) name.length).put(name).put(text);
    }

    @Test
    void recordsAreCutAndNamed() {
        ByteBuffer out = ByteBuffer.allocate(1000).order(ByteOrder.LITTLE_ENDIAN);
        put(out, 1, "", "started");
        put(out, 2, "tables", "paus\u00e9 \ud83d\ude00");
        put(out, 3, "io.tidemark.s3", "");
        byte[] batch = Arrays.copyOf(out.array(), out.position());
        List<String> got = new ArrayList<>();
        assertEquals(3, LogBridge.forward(batch, (logger, level, text) -> got.add(logger + " " + level + " " + text)));
        assertEquals(List.of("io.tidemark 1 started", "io.tidemark.tables 2 paus\u00e9 \ud83d\ude00",
                "io.tidemark.s3 3 "), got);
        assertEquals(0, LogBridge.forward(new byte[0], (logger, level, text) -> got.add(text)));
        for (int cut = 1; cut < batch.length; cut++) {
            byte[] part = Arrays.copyOf(batch, cut);
            try {
                LogBridge.forward(part, (logger, level, text) -> { });
            } catch (BufferUnderflowException e) {
                continue; // the only exception a cut batch may give
            }
        }
        assertThrows(BufferUnderflowException.class,
                () -> LogBridge.forward(new byte[] {9, 0, 0, 0, 1}, (logger, level, text) -> { }));
    }
}
