package io.tidemark.kafka;

import java.lang.management.ManagementFactory;
import java.util.IdentityHashMap;
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
 * Metrics as MBeans {@code tidemark:type=Metrics,name=<name>,<label>=<value>…} with one attribute {@code Value}. A
 * second instance in the process gets {@code node=<id>} into its names.
 */
final class JmxMetrics implements MetricsSink {
    private static final Logger LOG = LoggerFactory.getLogger(JmxMetrics.class);
    private static final Set<String> RESERVED = Set.of("name", "type", "node");

    private final MBeanServer server = ManagementFactory.getPlatformMBeanServer();
    private final Map<Metric, ObjectName> names = new IdentityHashMap<>();
    private final int nodeId;

    JmxMetrics(int nodeId) {
        this.nodeId = nodeId;
    }

    @Override
    public void add(Metric metric) throws JMException {
        Bean bean = new Bean(metric);
        ObjectName name = objectName(metric, "");
        try {
            server.registerMBean(bean, name);
        } catch (InstanceAlreadyExistsException e) {
            name = objectName(metric, ",node=" + nodeId);
            server.registerMBean(bean, name);
        }
        names.put(metric, name);
    }

    @Override
    public void remove(Metric metric) {
        ObjectName name = names.remove(metric);
        if (name == null) {
            return;
        }
        try {
            server.unregisterMBean(name);
        } catch (JMException e) {
            LOG.debug("{} was not registered", name);
        }
    }

    static ObjectName objectName(Metric metric, String suffix) throws MalformedObjectNameException {
        StringBuilder text = new StringBuilder("tidemark:type=Metrics,name=").append(quoted(metric.name()));
        metric.labels(RESERVED).forEach((key, value) -> text.append(',').append(key).append('=').append(quoted(value)));
        return new ObjectName(text.append(suffix).toString());
    }

    private static String quoted(String value) {
        boolean plain = !value.isEmpty() && value.chars().noneMatch(c -> ",=:\"*?\n\\".indexOf(c) >= 0);
        return plain ? value : ObjectName.quote(value);
    }

    /** One number. */
    private static final class Bean implements DynamicMBean {
        private final Metric metric;
        private final MBeanInfo info;

        Bean(Metric metric) {
            this.metric = metric;
            this.info = new MBeanInfo(Bean.class.getName(), metric.help(), new MBeanAttributeInfo[] {
                new MBeanAttributeInfo("Value", "double", metric.help(), true, false, false)}, null, null, null);
        }

        @Override
        public Object getAttribute(String attribute) throws AttributeNotFoundException {
            if (!"Value".equals(attribute)) {
                throw new AttributeNotFoundException(attribute);
            }
            return metric.value();
        }

        @Override
        public AttributeList getAttributes(String[] attributes) {
            AttributeList list = new AttributeList();
            for (String attribute : attributes) {
                if ("Value".equals(attribute)) {
                    list.add(new Attribute(attribute, metric.value()));
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
            return info;
        }
    }
}
