package io.tidemark.kafka;

import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.metrics.Measurable;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Metrics among the broker's own, in its group {@code plugins} (KIP-877). */
final class BrokerMetrics implements MetricsSink {
    private static final Logger LOG = LoggerFactory.getLogger(BrokerMetrics.class);
    /** Tags that Kafka sets itself and refuses from a plugin; {@code type} is a key of the MBean's name. */
    private static final Set<String> RESERVED = Set.of("config", "class", "type");

    private final PluginMetrics metrics;
    private final Map<Metric, MetricName> names = new IdentityHashMap<>();

    BrokerMetrics(PluginMetrics metrics) {
        this.metrics = metrics;
    }

    @Override
    public void add(Metric metric) {
        MetricName name = metrics.metricName(metric.name(), metric.help(), metric.labels(RESERVED));
        metrics.addMetric(name, (Measurable) (config, now) -> metric.value());
        names.put(metric, name);
    }

    @Override
    public void remove(Metric metric) {
        MetricName name = names.remove(metric);
        if (name == null) {
            return;
        }
        try {
            metrics.removeMetric(name);
        } catch (RuntimeException e) { // the broker may have removed the metrics of its plugins before
            LOG.debug("{} was not registered", name);
        }
    }
}
