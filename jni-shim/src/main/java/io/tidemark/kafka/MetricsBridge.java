package io.tidemark.kafka;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Polls the table of metrics of an instance and shows it in JMX and wherever else it is attached. */
final class MetricsBridge implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(MetricsBridge.class);
    private static final long EVERY_MS = 5_000;
    private static final long JOIN_MS = 5_000;
    private static final int SCHEMA_ATTEMPTS = 3;

    private final Instance instance;
    private final Thread thread;
    // Under the lock of this: what is shown, by schema line, and where.
    private final Map<String, Metric> shown = new HashMap<>();
    private final List<MetricsSink> sinks = new ArrayList<>();
    // Of the polling thread.
    private List<Metric> order = new ArrayList<>();
    private int schemaHash;
    private boolean failing;

    MetricsBridge(Instance instance) {
        this.instance = instance;
        this.thread = new Thread(this, "tidemark-metrics-" + instance.nodeId());
        thread.setDaemon(true);
        sinks.add(new JmxMetrics(instance.nodeId()));
    }

    void start() {
        thread.start();
    }

    /** Shows all metrics, those known now and those to come, in one more place. */
    synchronized void attach(MetricsSink sink) {
        sinks.add(sink);
        shown.values().forEach(metric -> add(sink, metric));
    }

    /** Ends the thread and removes every metric from where it is shown. */
    void stop() {
        thread.interrupt();
        try {
            thread.join(JOIN_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        keep(Set.of());
    }

    @Override
    public void run() {
        try {
            while (!Thread.currentThread().isInterrupted()) {
                try {
                    poll();
                    failing = false;
                } catch (Throwable t) {
                    if (!failing) {
                        LOG.warn("reading the metrics of the native library failed", t);
                    }
                    failing = true;
                }
                Thread.sleep(EVERY_MS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void poll() {
        for (int attempt = 0; attempt < SCHEMA_ATTEMPTS; attempt++) {
            ByteBuffer values = read();
            if (values == null) {
                return;
            }
            int hash = values.getInt();
            int count = values.remaining() / Double.BYTES;
            if (hash == schemaHash && count == order.size()) {
                for (Metric metric : order) {
                    metric.set(values.getDouble());
                }
                return;
            }
            List<Metric> schema = schema();
            ByteBuffer again = read();
            // The schema may grow at any time; it fits these values only if it was the same before and after.
            if (schema != null && again != null && again.getInt() == hash && schema.size() == count) {
                order = schema;
                schemaHash = hash;
            }
        }
    }

    private ByteBuffer read() {
        byte[][] out = new byte[2][];
        if (instance.metrics(out) != Status.OK || out[0] == null || out[0].length < Integer.BYTES) {
            return null;
        }
        return ByteBuffer.wrap(out[0]).order(ByteOrder.LITTLE_ENDIAN);
    }

    private List<Metric> schema() {
        byte[][] out = new byte[2][];
        if (instance.metricsSchema(out) != Status.OK || out[0] == null) {
            return null;
        }
        List<Metric> all = new ArrayList<>();
        Set<String> present = new HashSet<>();
        for (String line : new String(out[0], StandardCharsets.UTF_8).split("\n")) {
            if (!line.isEmpty()) {
                all.add(show(line));
                present.add(line);
            }
        }
        keep(present);
        return all;
    }

    private synchronized Metric show(String line) {
        return shown.computeIfAbsent(line, l -> {
            Metric metric = Metric.of(l);
            sinks.forEach(sink -> add(sink, metric));
            return metric;
        });
    }

    private synchronized void keep(Set<String> present) {
        shown.entrySet().removeIf(e -> {
            boolean gone = !present.contains(e.getKey());
            if (gone) {
                sinks.forEach(sink -> sink.remove(e.getValue()));
            }
            return gone;
        });
    }

    /** One name that cannot be shown does not keep the others from it. */
    private static void add(MetricsSink sink, Metric metric) {
        try {
            sink.add(metric);
        } catch (Exception e) {
            LOG.warn("the metric {} cannot be shown", metric.name(), e);
        }
    }
}
