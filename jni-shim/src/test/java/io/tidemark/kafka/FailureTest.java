package io.tidemark.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.Map;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.server.log.remote.storage.RemoteResourceNotFoundException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.junit.jupiter.api.Test;

class FailureTest {
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 99})
    void theTableOfErrors(int status) {
        Failure f = Failure.of(status, FakeTransport.error(status, "why"));
        String text = Status.name(status) + ": why";
        boolean notFound = status == Status.NOT_FOUND;

        assertSame(RemoteStorageException.class, f.forCopy().getClass(), "copy: never a subclass");
        assertEquals(text, f.forCopy().getMessage());
        assertSame(notFound ? RemoteResourceNotFoundException.class : RemoteStorageException.class,
                f.forOpen().getClass());
        // The tests run on Kafka 4.0, which has no retriable subclass.
        assertSame(notFound ? RemoteResourceNotFoundException.class : RemoteStorageException.class,
                f.forIndex().getClass());
        if (notFound) {
            assertNull(f.forDelete(), "deleting what is gone is success");
        } else {
            assertSame(RemoteStorageException.class, f.forDelete().getClass());
        }
        assertEquals(text, f.forRead().getMessage());
        assertEquals("why", f.forConfigure().getMessage(), "the text of Go unchanged");

        if (status == Status.CANCELLED) {
            assertInstanceOf(InterruptedException.class, f.forCopy().getCause());
            assertInstanceOf(InterruptedException.class, f.forOpen().getCause());
            assertInstanceOf(InterruptedException.class, f.forIndex().getCause());
            assertInstanceOf(InterruptedException.class, f.forDelete().getCause());
            assertInstanceOf(InterruptedIOException.class, f.forRead());
            assertInstanceOf(InterruptedException.class, f.forRead().getCause());
        } else {
            assertNull(f.forCopy().getCause());
            assertSame(IOException.class, f.forRead().getClass());
        }
    }

    @Test
    void aMissingOrDamagedErrorFrameStillGivesTheClass() {
        assertEquals("Corrupt: the native library gave no reason",
                Failure.of(Status.CORRUPT, null).forCopy().getMessage());
        byte[] damaged = FakeTransport.error(Status.CORRUPT, "why");
        damaged[30] ^= 1;
        assertEquals("Corrupt: the native library gave no reason",
                Failure.of(Status.CORRUPT, damaged).forCopy().getMessage());
    }

    @Test
    void openIsRefusedWithTheTextOfGo() {
        FakeTransport go = new FakeTransport();
        go.status = Status.INVALID;
        go.message = "storge: unknown, did you mean storage?\nprefix: missing";
        ConfigException e = assertThrows(ConfigException.class, () -> Instance.open(go, 920, Map.of(), ""));
        assertEquals(go.message, e.getMessage());
        assertNull(Instance.find(920));
    }

    @Test
    void eachMethodUsesItsColumn() throws Exception {
        FakeTransport go = new FakeTransport();
        Instance instance = Instance.open(go, 921, Map.of(), "");
        go.status = Status.NOT_FOUND;
        go.message = "gone";
        assertSame(RemoteStorageException.class,
                assertThrows(RemoteStorageException.class, () -> instance.copy(Samples.segment(), Samples.data()))
                        .getClass());
        assertThrows(RemoteResourceNotFoundException.class, () -> instance.segment(Samples.segment(), 0, -1));
        assertThrows(RemoteResourceNotFoundException.class, () -> instance.index(Samples.segment(),
                org.apache.kafka.server.log.remote.storage.RemoteStorageManager.IndexType.TRANSACTION));
        instance.delete(Samples.segment());
        go.status = Status.OK;
        go.reply = new byte[129];
        assertThrows(RemoteStorageException.class, () -> instance.copy(Samples.segment(), Samples.data()));
        go.reply = new byte[128];
        assertEquals(128, instance.copy(Samples.segment(), Samples.data()).length);
        instance.close();
        RemoteStorageException closed = assertThrows(RemoteStorageException.class,
                () -> instance.delete(Samples.segment()));
        assertEquals("Closed: the remote storage manager is closed", closed.getMessage());
        assertNull(Instance.find(921));
    }

    @Test
    void anIndexIsReadWholeOrNotAtAll() throws Exception {
        FakeTransport go = new FakeTransport();
        Instance instance = Instance.open(go, 922, Map.of(), "");
        var type = org.apache.kafka.server.log.remote.storage.RemoteStorageManager.IndexType.OFFSET;
        go.content = new byte[] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18};
        go.total = 18;
        org.junit.jupiter.api.Assertions.assertArrayEquals(go.content, instance.index(Samples.segment(), type));
        go.total = 19;
        assertThrows(RemoteStorageException.class, () -> instance.index(Samples.segment(), type));
        go.total = 18;
        go.failNextAfter = 1;
        go.status = Status.NOT_FOUND;
        assertThrows(RemoteResourceNotFoundException.class, () -> instance.index(Samples.segment(), type));
        assertEquals(go.freed.size(), go.closedStreams.size(), "every stream is closed and its operation freed");
        instance.close();
    }
}
