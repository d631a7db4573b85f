/**
 * Counts and times what the service does, and renders the result as Prometheus text.
 *
 * <p>The hot path adds to the counters of its own thread ({@link lsmlab.server.metrics.Recorder}); the admin thread
 * sums them up at a scrape.
 */
package lsmlab.server.metrics;
