package lsmlab.server.config;

import java.nio.file.Path;
import lsmlab.server.variant.queue.IdleStrategy;
import lsmlab.server.variant.queue.QueuePolicy;
import lsmlab.storage.CompactionStrategy;
import lsmlab.storage.Compression;
import lsmlab.storage.Durability;

/**
 * The content of {@code service.yaml}, complete and checked. {@link ConfigFile} reads it and defines the defaults and
 * ranges.
 *
 * @param dataPort port of the HTTP API; 0 for a free one
 * @param adminPort port for metrics and maintenance; 0 for a free one
 * @param selectors number of selector threads, 1 or more
 * @param deadlineMs maximum time that a request may wait, in milliseconds; only some variants enforce it
 * @param queuePolicy policy for a full queue; the variant must support it
 * @param idle strategy of idle workers; the variant must support it
 * @param batch maximum number of requests that a worker takes at once, for variants that batch
 * @param carriers number of carrier threads of virtual threads; 0 for one per CPU
 * @param refusalsPerSecondMax maximum number of refusals a second because of overload, over all connections; 0 for no
 * limit
 * @param requestMetrics whether requests are counted and timed
 * @param memtablesMax number of sealed memtables that may wait for a flush before writes are held back
 * @param level0TablesMax number of level-0 tables at which a compaction is due
 * @param fanout size of a level as a multiple of the one above it
 * @param blockBytes size at which a table's block is closed
 * @param bloomBitsPerKey bits for each key in a table's bloom filter; 0 for no filter
 * @param compression how the blocks of new tables are compressed
 * @param compactionBytesPerSecondMax average rate at which compaction writes; 0 for no limit
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
