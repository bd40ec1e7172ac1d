package io.tidemark.kafka;

import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.management.Attribute;
import javax.management.AttributeList;
import javax.management.AttributeNotFoundException;
import javax.management.DynamicMBean;
import javax.management.InstanceAlreadyExistsException;
import javax.management.JMException;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanInfo;
import javax.management.MBeanServer;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The metrics of an instance as MBeans {@code tidemark:type=Metrics,name=<name>,<label>=<value>…} with one attribute
 * {@code Value}. A second instance in the process gets {@code node=<id>} into its names.
 */
final class MetricsBridge implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(MetricsBridge.class);
    private static final long EVERY_MS = 5_000;
    private static final long JOIN_MS = 5_000;
    private static final int SCHEMA_ATTEMPTS = 3;

    private final Instance instance;
    private final MBeanServer server = ManagementFactory.getPlatformMBeanServer();
    private final Map<String, Gauge> gauges = new HashMap<>(); // by schema line
    private final Thread thread;
    private List<Gauge> order = new ArrayList<>();
    private int schemaHash;
    private boolean failing;

    MetricsBridge(Instance instance) {
        this.instance = instance;
        this.thread = new Thread(this, "tidemark-metrics-" + instance.nodeId());
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    /** Ends the thread and removes the beans. */
    void stop() {
        thread.interrupt();
        try {
            thread.join(JOIN_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        gauges.values().forEach(this::unregister);
        gauges.clear();
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

    private void poll() throws JMException {
        for (int attempt = 0; attempt < SCHEMA_ATTEMPTS; attempt++) {
            ByteBuffer values = read();
            if (values == null) {
                return;
            }
            int hash = values.getInt();
            int count = values.remaining() / Double.BYTES;
            if (hash == schemaHash && count == order.size()) {
                for (Gauge gauge : order) {
                    gauge.value = values.getDouble();
                }
                return;
            }
            List<Gauge> schema = schema();
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

    private List<Gauge> schema() throws JMException {
        byte[][] out = new byte[2][];
        if (instance.metricsSchema(out) != Status.OK || out[0] == null) {
            return null;
        }
        List<Gauge> all = new ArrayList<>();
        Set<String> present = new HashSet<>();
        for (String line : new String(out[0], StandardCharsets.UTF_8).split("\n")) {
            if (line.isEmpty()) {
                continue;
            }
            Gauge gauge = gauges.get(line);
            if (gauge == null) {
                gauge = register(line);
                gauges.put(line, gauge);
            }
            all.add(gauge);
            present.add(line);
        }
        gauges.entrySet().removeIf(e -> {
            boolean gone = !present.contains(e.getKey());
            if (gone) {
                unregister(e.getValue());
            }
            return gone;
        });
        return all;
    }

    private Gauge register(String line) throws JMException {
        Gauge gauge = new Gauge();
        ObjectName name = objectName(line, "");
        try {
            server.registerMBean(gauge, name);
        } catch (InstanceAlreadyExistsException e) {
            name = objectName(line, ",node=" + instance.nodeId());
            server.registerMBean(gauge, name);
        }
        gauge.name = name;
        return gauge;
    }

    private void unregister(Gauge gauge) {
        try {
            server.unregisterMBean(gauge.name);
        } catch (JMException e) {
            LOG.debug("{} was not registered", gauge.name);
        }
    }

    /** From a schema line, {@code name TAB k=v,k=v}. */
    static ObjectName objectName(String line, String suffix) throws MalformedObjectNameException {
        int tab = line.indexOf('\t');
        StringBuilder text = new StringBuilder("tidemark:type=Metrics,name=");
        text.append(quoted(tab < 0 ? line : line.substring(0, tab)));
        String labels = tab < 0 ? "" : line.substring(tab + 1);
        if (!labels.isEmpty()) {
            for (String label : labels.split(",(?=[a-zA-Z_][a-zA-Z0-9_]*=)")) {
                int equals = label.indexOf('=');
                String key = equals < 0 ? "label" : label.substring(0, equals);
                if (key.equals("name") || key.equals("type") || key.equals("node")) {
                    key = "label_" + key;
                }
                text.append(',').append(key).append('=').append(quoted(label.substring(equals + 1)));
            }
        }
        return new ObjectName(text.append(suffix).toString());
    }

    private static String quoted(String value) {
        boolean plain = !value.isEmpty() && value.chars().noneMatch(c -> ",=:\"*?\n\\".indexOf(c) >= 0);
        return plain ? value : ObjectName.quote(value);
    }

    /** One number. */
    private static final class Gauge implements DynamicMBean {
        private static final MBeanInfo INFO = new MBeanInfo(Gauge.class.getName(), "A metric of Tidemark",
                new MBeanAttributeInfo[] {
                    new MBeanAttributeInfo("Value", "double", "The value at the last poll", true, false, false)},
                null, null, null);

        private volatile double value;
        private ObjectName name;

        @Override
        public Object getAttribute(String attribute) throws AttributeNotFoundException {
            if (!"Value".equals(attribute)) {
                throw new AttributeNotFoundException(attribute);
            }
            return value;
        }

        @Override
        public AttributeList getAttributes(String[] attributes) {
            AttributeList list = new AttributeList();
            for (String attribute : attributes) {
                if ("Value".equals(attribute)) {
                    list.add(new Attribute(attribute, value));
                }
            }
            return list;
        }

        @Override
        public void setAttribute(Attribute attribute) throws AttributeNotFoundException {
            throw new AttributeNotFoundException("metrics are read only");
        }

        @Override
        public AttributeList setAttributes(AttributeList attributes) {
            return new AttributeList();
        }

        @Override
        public Object invoke(String action, Object[] params, String[] signature) {
            throw new UnsupportedOperationException("metrics have no operations");
        }

        @Override
        public MBeanInfo getMBeanInfo() {
            return INFO;
        }
    }
}
