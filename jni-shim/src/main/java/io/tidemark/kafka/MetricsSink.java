package io.tidemark.kafka;

/** Where metrics are shown. Called by one thread at a time; a metric is added once and removed once. */
interface MetricsSink {
    /** Shows a metric, whose value moves from now on without further calls. */
    void add(Metric metric) throws Exception;

    /** Ends it. */
    void remove(Metric metric);
}
