package io.tidemark.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Map;
import org.apache.kafka.common.config.ConfigException;
import org.junit.jupiter.api.Test;

class PluginPropertiesTest {
    private static final String API = "remote.log.metadata.common.client.default.api.timeout.ms";
    private static final String REQUEST = "remote.log.metadata.common.client.request.timeout.ms";

    @Test
    void nodeId() {
        assertEquals(3, PluginProperties.nodeId(Map.of("broker.id", 3)));
        assertEquals(4, PluginProperties.nodeId(Map.of("broker.id", "4", "node.id", "4")));
        assertEquals(5, PluginProperties.nodeId(Map.of("node.id", 5)));
        assertThrows(ConfigException.class, () -> PluginProperties.nodeId(Map.of()));
        assertThrows(ConfigException.class, () -> PluginProperties.nodeId(Map.of("node.id", "x")));
    }

    @Test
    void timeoutsUnlessGiven() {
        assertEquals("6000", PluginProperties.withTimeouts(Map.of()).get(API));
        assertEquals("3000", PluginProperties.withTimeouts(Map.of("cluster.id", "x")).get(REQUEST));
        Map<String, Object> given = PluginProperties.withTimeouts(Map.of(REQUEST, "30000"));
        assertEquals("30000", given.get(REQUEST));
        assertFalse(given.containsKey(API), "a shorter API time-out than the operator's request time-out is refused");
        assertFalse(PluginProperties.withTimeouts(Map.of("remote.log.metadata.admin.request.timeout.ms", "1"))
                .containsKey(API));
    }

    @Test
    void facts() {
        Messages.Facts facts = PluginProperties.facts(Map.of("cluster.id", "c", "log.dir", "/d",
                "remote.log.metadata.common.client.bootstrap.servers", "h:1",
                "remote.log.metadata.common.client.security.protocol", "SASL_SSL"));
        assertEquals(new Messages.Facts("c", "h:1", "SASL_SSL", "/d"), facts);
        assertEquals("", PluginProperties.facts(Map.of()).bootstrap());
    }

    @Test
    void kafkaVersionIsReadFromItsJar() {
        assertEquals("4.0.2", PluginProperties.kafkaVersion());
    }
}
