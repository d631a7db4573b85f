package lsmlab.server.config;

import java.nio.file.Path;
import lsmlab.server.variant.IdleStrategy;
import lsmlab.server.variant.QueuePolicy;
import lsmlab.storage.CompactionStrategy;
import lsmlab.storage.Compression;
import lsmlab.storage.Durability;

/**
 * The content of {@code service.yaml}, complete and checked. {@link ConfigFile} reads it and has the defaults and
 * ranges.
 *
 * @param dataPort 0 for a free one
 * @param adminPort 0 for a free one
 * @param selectors selector threads, 1 or more
 * @param deadlineMs how long a request may wait if late ones are dropped
 * @param queuePolicy what happens when the queue is full; one that the variant supports
 * @param idle what idle workers do; one that the variant supports
 * @param batch requests that a worker takes at once, for variants that batch
 * @param carriers carrier threads of virtual threads; 0 for one per CPU
 * @param refusalsPerSecondMax requests that are refused a second, over all connections; 0 for no limit
 * @param requestMetrics whether requests are counted and timed
 * @param memtablesMax sealed memtables waiting for a flush before writes are held back
 * @param level0TablesMax number of level-0 tables that triggers a compaction
 * @param fanout size of a level as a multiple of the one above it
 * @param blockBytes size at which a table's block is closed
 * @param bloomBitsPerKey size of a table's bloom filter; 0 for none
 * @param compression of the blocks of new tables
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
    IdleStrategy idle,
    int batch,
    int carriers,
    int refusalsPerSecondMax,
    Durability durability,
    long flushThresholdBytes,
    int flushThreads,
    int memtablesMax,
    CompactionStrategy compaction,
    int level0TablesMax,
    int fanout,
    int blockBytes,
    int bloomBitsPerKey,
    Compression compression,
    long compactionBytesPerSecondMax,
    int maxValueBytes,
    int maxConnections,
    boolean requestMetrics) {}
