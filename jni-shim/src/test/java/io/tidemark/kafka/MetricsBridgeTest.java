package io.tidemark.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.function.BooleanSupplier;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.junit.jupiter.api.Test;

class MetricsBridgeTest {
    @Test
    void names() throws Exception {
        assertEquals("tidemark:type=Metrics,name=a_total", JmxMetrics.objectName(Metric.of("a_total\t"), "").toString());
        assertEquals("tidemark:type=Metrics,name=a,op=get", JmxMetrics.objectName(Metric.of("a\top=get"), "").toString());
        ObjectName quoted = JmxMetrics.objectName(Metric.of("a\ttopic=x,y=:z,name=n"), ",node=2");
        assertEquals("2", quoted.getKeyProperty("node"));
        assertEquals("n", quoted.getKeyProperty("label_name"));
        assertEquals("x", quoted.getKeyProperty("topic"));
        assertEquals(":z", ObjectName.unquote(quoted.getKeyProperty("y")));
    }

    private static final class Go extends FakeTransport {
        volatile String schema = "m_a\t\t\nm_b\top=get\thow often\n";
        volatile double[] values = {1, 2};

        @Override
        public int metricsSchema(long instance, byte[][] out) {
            out[0] = schema.getBytes(StandardCharsets.UTF_8);
            return Status.OK;
        }

        @Override
        public int metrics(long instance, byte[][] out) {
            ByteBuffer b = ByteBuffer.allocate(4 + 8 * values.length).order(ByteOrder.LITTLE_ENDIAN);
            b.putInt(schema.hashCode());
            for (double v : values) {
                b.putDouble(v);
            }
            out[0] = b.array();
            return Status.OK;
        }
    }

    @Test
    void beansFollowTheSchemaAndGoAtStop() throws Exception {
        Go go = new Go();
        Instance instance = Instance.open(go, 930, Map.of(), "");
        MetricsBridge bridge = new MetricsBridge(instance);
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        ObjectName b = JmxMetrics.objectName(Metric.of("m_b\top=get"), "");
        bridge.start();
        await(() -> value(server, b) == 2.0);
        assertEquals(1.0, value(server, JmxMetrics.objectName(Metric.of("m_a\t"), "")));
        assertEquals("how often", server.getMBeanInfo(b).getAttributes()[0].getDescription());
        bridge.stop();
        assertTrue(server.queryNames(new ObjectName("tidemark:*"), null).isEmpty(), "beans are left");
        instance.close();
    }

    private static double value(MBeanServer server, ObjectName name) {
        try {
            return (Double) server.getAttribute(name, "Value");
        } catch (javax.management.JMException e) {
            return Double.NaN;
        }
    }

    private static void await(BooleanSupplier condition) throws InterruptedException {
        long deadline = System.nanoTime() + 20_000_000_000L;
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, "the condition did not become true");
            Thread.sleep(10);
        }
    }
}
