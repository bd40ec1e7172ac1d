package io.tidemark.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class MetricTest {
    @Test
    void columnsOfASchemaLine() {
        Metric metric = Metric.of("m_total\ttopic=a,b,class=Corrupt\tWhat it says: a=b, c=d.");
        assertEquals("m_total", metric.name());
        assertEquals(Map.of("topic", "a,b", "class", "Corrupt"), metric.labels(Set.of()));
        assertEquals("What it says: a=b, c=d.", metric.help());
    }

    @Test
    void labelsThatTheReceiverNeedsItself() {
        Metric metric = Metric.of("m\tclass=Corrupt,config=x,op=get\t");
        assertEquals(Map.of("label_class", "Corrupt", "label_config", "x", "op", "get"),
                metric.labels(Set.of("class", "config")));
    }

    @Test
    void nothingButAName() {
        Metric metric = Metric.of("m");
        assertEquals("m", metric.name());
        assertEquals(Map.of(), metric.labels(Set.of()));
        assertEquals("", metric.help());
    }
}
