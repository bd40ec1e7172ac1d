package io.tidemark.kafka;

import java.io.IOException;
import java.io.InputStream;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager;

/** What is read from the maps that the broker configures its plugins with. */
final class PluginProperties {
    private static final String COMMON = "remote.log.metadata.common.client.";
    private static final String API_TIMEOUT = "default.api.timeout.ms";
    private static final String REQUEST_TIMEOUT = "request.timeout.ms";

    private PluginProperties() {
    }

    /** {@code broker.id} up to Kafka 4.x, {@code node.id} from 4.4 on. */
    static int nodeId(Map<String, ?> configs) {
        Object id = configs.get("node.id") != null ? configs.get("node.id") : configs.get("broker.id");
        if (id == null) {
            throw new ConfigException("the broker gave neither node.id nor broker.id to its plugin");
        }
        try {
            return Integer.parseInt(id.toString().trim());
        } catch (NumberFormatException e) {
            throw new ConfigException("node.id", id, "must be a number");
        }
    }

    static Messages.Facts facts(Map<String, ?> configs) {
        return new Messages.Facts(text(configs, "cluster.id"), text(configs, COMMON + "bootstrap.servers"),
                text(configs, COMMON + "security.protocol"), text(configs, "log.dir"));
    }

    private static String text(Map<String, ?> configs, String key) {
        Object value = configs.get(key);
        return value == null ? "" : value.toString();
    }

    /**
     * The metadata manager's properties with shorter client time-outs, because a broker that stops before the metadata
     * topic exists would else wait a minute for its clients. Left alone when the operator set any of the two for any
     * client: Kafka refuses a request time-out above the API time-out.
     */
    static Map<String, Object> withTimeouts(Map<String, ?> configs) {
        Map<String, Object> out = new HashMap<>(configs);
        boolean given = configs.keySet().stream().anyMatch(k -> k.startsWith("remote.log.metadata.")
                && (k.endsWith("." + API_TIMEOUT) || k.endsWith("." + REQUEST_TIMEOUT)));
        if (!given) {
            out.put(COMMON + API_TIMEOUT, "6000");
            out.put(COMMON + REQUEST_TIMEOUT, "3000");
        }
        return out;
    }

    /** Whether the broker loaded a plugin class through a loader of its own, that is, {@code class.path} is set. */
    static boolean hasOwnLoader(Class<?> plugin) {
        return plugin.getClassLoader() != RemoteStorageManager.class.getClassLoader();
    }

    /** The version of Kafka, or "" if its jar does not say. */
    static String kafkaVersion() {
        Properties properties = new Properties();
        try (InputStream in =
                RemoteStorageManager.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            if (in != null) {
                properties.load(in);
            }
        } catch (IOException e) {
            return "";
        }
        return properties.getProperty("version", "");
    }
}
