package io.tidemark.kafka;

/** The error classes of the boundary; the numbers are part of the protocol. */
final class Status {
    static final int OK = 0;
    static final int NOT_FOUND = 1;
    static final int CORRUPT = 2;
    static final int CONFLICT = 3;
    static final int UNKNOWN = 4;
    static final int THROTTLED = 5;
    static final int TRANSIENT = 6;
    static final int CANCELLED = 7;
    static final int INVALID = 8;
    static final int UNSUPPORTED = 9;
    static final int CLOSED = 10;
    static final int INTERNAL = 11;

    private static final String[] NAMES = {"OK", "NotFound", "Corrupt", "Conflict", "Unknown", "Throttled",
        "Transient", "Cancelled", "Invalid", "Unsupported", "Closed", "Internal"};

    private Status() {
    }

    static String name(int status) {
        return status >= 0 && status < NAMES.length ? NAMES[status] : "Class(" + status + ")";
    }
}
