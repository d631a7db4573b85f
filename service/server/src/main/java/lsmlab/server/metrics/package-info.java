/**
 * What the service counts and times, and its rendering as Prometheus text.
 *
 * <p>The hot path adds to counters of its own thread ({@link lsmlab.server.metrics.Recorder}); the admin thread merges
 * them at a scrape.
 */
package lsmlab.server.metrics;
