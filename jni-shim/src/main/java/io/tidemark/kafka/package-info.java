/**
 * The Java side of Tidemark: the two plugin classes that a broker names, and what carries their calls to the Go
 * library and its answers back. It decides nothing: every rule about storage or tables is in Go.
 *
 * <p>A call: plugin class &rarr; {@link io.tidemark.kafka.Instance} (guard, message, error) &rarr;
 * {@link io.tidemark.kafka.Transport} &rarr; {@link io.tidemark.kafka.Native}.
 */
package io.tidemark.kafka;
