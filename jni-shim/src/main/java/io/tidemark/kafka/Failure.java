package io.tidemark.kafka;

import io.tidemark.kafka.wire.ErrorReply;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.reflect.Constructor;
import java.nio.ByteBuffer;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.server.log.remote.storage.RemoteResourceNotFoundException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;

/** An answer of Go that is not success, and the exception that Kafka expects for it in each method. */
final class Failure {
    private static final String RETRIABLE =
            "org.apache.kafka.server.log.remote.storage.RetriableRemoteStorageException";

    private final int status;
    private final String message;

    Failure(int status, String message) {
        this.status = status;
        this.message = message;
    }

    /** From the status and the error frame, which is null when Go could not allocate one. */
    static Failure of(int status, byte[] frame) {
        return new Failure(status, messageOf(frame));
    }

    private static String messageOf(byte[] frame) {
        ByteBuffer payload = Frame.payload(frame, Frame.ERROR_REPLY);
        if (payload != null) {
            try {
                String message = ErrorReply.getRootAsErrorReply(payload).message();
                if (message != null && !message.isEmpty()) {
                    return message;
                }
            } catch (RuntimeException e) {
                return "the native library answered with a damaged error message";
            }
        }
        return "the native library gave no reason";
    }

    int status() {
        return status;
    }

    String message() {
        return message;
    }

    private String text() {
        return Status.name(status) + ": " + message;
    }

    /** Never the retriable subclass: Kafka 4.3 and later leak a record and the objects of each such attempt. */
    RemoteStorageException forCopy() {
        return plain();
    }

    RemoteStorageException forOpen() {
        return status == Status.NOT_FOUND ? new RemoteResourceNotFoundException(text()) : plain();
    }

    RemoteStorageException forIndex() {
        if (status == Status.THROTTLED || status == Status.TRANSIENT) {
            RemoteStorageException retriable = Retriable.make(text());
            return retriable != null ? retriable : plain();
        }
        return forOpen();
    }

    /** Null when the segment was not there, which is success. */
    RemoteStorageException forDelete() {
        return status == Status.NOT_FOUND ? null : plain();
    }

    IOException forRead() {
        return status == Status.CANCELLED ? interruptedRead(text()) : new IOException(text());
    }

    ConfigException forConfigure() {
        return new ConfigException(message);
    }

    private RemoteStorageException plain() {
        return status == Status.CANCELLED ? interrupted(text()) : new RemoteStorageException(text());
    }

    static RemoteStorageException interrupted(String text) {
        return new RemoteStorageException(text, new InterruptedException(text));
    }

    static IOException interruptedRead(String text) {
        InterruptedIOException e = new InterruptedIOException(text);
        e.initCause(new InterruptedException(text));
        return e;
    }

    static Failure closed() {
        return new Failure(Status.CLOSED, "the remote storage manager is closed");
    }

    /** The class that Kafka has from 4.2 on; looked for once, when the first transient failure needs it. */
    private static final class Retriable {
        private static final Constructor<?> CONSTRUCTOR = find();

        private static Constructor<?> find() {
            try {
                return Class.forName(RETRIABLE, true, RemoteStorageException.class.getClassLoader())
                        .getConstructor(String.class);
            } catch (ReflectiveOperationException | LinkageError e) {
                return null;
            }
        }

        static RemoteStorageException make(String text) {
            if (CONSTRUCTOR == null) {
                return null;
            }
            try {
                return (RemoteStorageException) CONSTRUCTOR.newInstance(text);
            } catch (ReflectiveOperationException | ClassCastException e) {
                return null;
            }
        }
    }
}
