package io.tidemark.kafka;

import org.apache.kafka.common.metrics.Monitorable;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * {@link TidemarkRemoteStorageManager} for Kafka 4.1 and later, whose metrics are also metrics of the broker (KIP-877):
 * they reach every {@code metric.reporters} and are MBeans
 * {@code kafka.server:type=plugins,config=remote.log.storage.manager.class.name,class=TidemarkMonitorableRemoteStorageManager,<label>=<value>…}
 * with one attribute per name.
 *
 * <p>Kafka 4.0 lacks the interface: a broker that names this class there does not start. Nothing else of Tidemark refers
 * to it. With {@code remote.log.storage.manager.class.path} set, Kafka hides the interface and only the MBeans of the
 * domain {@code tidemark} exist.
 */
public final class TidemarkMonitorableRemoteStorageManager extends TidemarkRemoteStorageManager
        implements Monitorable {
    private static final Logger LOG = LoggerFactory.getLogger(TidemarkMonitorableRemoteStorageManager.class);

    /** Made by the broker. */
    public TidemarkMonitorableRemoteStorageManager() {
    }

    /** Called by the broker once, after {@code configure}. Metrics are never a reason not to start. */
    @Override
    public void withPluginMetrics(PluginMetrics metrics) {
        try {
            show(new BrokerMetrics(metrics));
        } catch (Throwable t) {
            LOG.warn("the metrics of Tidemark are not among those of the broker", t);
        }
    }
}
