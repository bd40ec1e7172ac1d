package io.tidemark.kafka;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/** One series of the library's table of metrics: name, labels, what it says and the value at the last poll. */
final class Metric {
    private final String name;
    private final Map<String, String> labels;
    private final String help;
    private volatile double value;

    private Metric(String name, Map<String, String> labels, String help) {
        this.name = name;
        this.labels = labels;
        this.help = help;
    }

    /** From a schema line, {@code name TAB k=v,k=v TAB help}. */
    static Metric of(String line) {
        String[] columns = line.split("\t", 3);
        Map<String, String> labels = new LinkedHashMap<>();
        String text = columns.length < 2 ? "" : columns[1];
        if (!text.isEmpty()) {
            for (String label : text.split(",(?=[a-zA-Z_][a-zA-Z0-9_]*=)")) {
                int equals = label.indexOf('=');
                labels.put(equals < 0 ? "label" : label.substring(0, equals), label.substring(equals + 1));
            }
        }
        return new Metric(columns[0], labels, columns.length < 3 ? "" : columns[2]);
    }

    String name() {
        return name;
    }

    /** What it says, one line. */
    String help() {
        return help;
    }

    /** The labels in the library's order; a key that the receiver has another use for gets {@code label_} before it. */
    LinkedHashMap<String, String> labels(Set<String> reserved) {
        LinkedHashMap<String, String> out = new LinkedHashMap<>();
        labels.forEach((key, text) -> out.put(reserved.contains(key) ? "label_" + key : key, text));
        return out;
    }

    double value() {
        return value;
    }

    void set(double now) {
        value = now;
    }
}
