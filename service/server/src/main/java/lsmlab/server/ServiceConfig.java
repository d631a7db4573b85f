package lsmlab.server;

import java.nio.file.Path;
import lsmlab.server.variant.QueuePolicy;
import lsmlab.storage.Durability;

/**
 * What {@code service.yaml} says, complete and checked. {@link ConfigFile} reads it and knows the defaults and ranges.
 *
 * @param dataPort 0 for a free one
 * @param adminPort 0 for a free one
 * @param selectors selector threads, 1 or more
 * @param deadlineMs how long a request may wait where late ones are dropped
 * @param queuePolicy what happens when the queue is full; one that the variant has
 * @param requestMetrics whether requests are counted and timed
 * @param memtablesMax sealed memtables waiting for a flush before writes are held back
 * @param compactionBytesPerSecondMax rate at which compaction writes; 0 for no limit
 */
public record ServiceConfig(
    String dataHost,
    int dataPort,
    String adminHost,
    int adminPort,
    Path dataDir,
    String engine,
    String variant,
    int selectors,
    int workers,
    int queueCapacity,
    int deadlineMs,
    QueuePolicy queuePolicy,
    Durability durability,
    long flushThresholdBytes,
    int flushThreads,
    int memtablesMax,
    boolean compaction,
    long compactionBytesPerSecondMax,
    int maxValueBytes,
    int maxConnections,
    boolean requestMetrics) {}
