package lsmlab.server.variant;

/**
 * What a configuration says to a variant; each takes what it has a use for.
 *
 * @param workers worker threads, 1 or more
 * @param queueCapacity requests that may wait, 1 or more
 * @param deadlineNanos how long a request may wait in a variant that drops late ones
 */
public record VariantSettings(int workers, int queueCapacity, long deadlineNanos) {}
