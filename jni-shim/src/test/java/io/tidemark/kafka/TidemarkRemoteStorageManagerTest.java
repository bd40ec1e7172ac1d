package io.tidemark.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.junit.jupiter.api.Test;

class TidemarkRemoteStorageManagerTest {
    /** To the library a negative end means the end of the segment. */
    @Test
    void endBeforeTheStartIsRefused() {
        TidemarkRemoteStorageManager plugin = new TidemarkRemoteStorageManager();
        for (int[] range : new int[][] {{5, 4}, {0, -1}, {0, -2}, {7, Integer.MIN_VALUE}}) {
            RemoteStorageException e = assertThrows(RemoteStorageException.class,
                    () -> plugin.fetchLogSegment(Samples.segment(), range[0], range[1]));
            assertEquals(RemoteStorageException.class, e.getClass());
            assertTrue(e.getMessage().startsWith("Invalid: end position " + range[1]), e.getMessage());
        }
    }
}
