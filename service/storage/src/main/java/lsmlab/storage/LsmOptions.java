package lsmlab.storage;

import java.nio.file.Path;
import java.util.Objects;

/**
 * The layout of a log-structured merge tree, and its durability. {@link #builder} starts from the
 * defaults.
 *
 * @param directory directory of the store; created if it does not exist
 * @param durability what an acknowledged write survives
 * @param flushThresholdBytes size at which a memtable is sealed and handed to a flush thread
 * @param flushThreads threads that turn sealed memtables into tables, 1 or more
 * @param memtablesMax number of sealed memtables that may wait for a flush before writes are held
 *     back, 1 or more
 * @param compaction how tables are merged in the background; {@link Engine#compact} works with each
 *     setting
 * @param level0TablesMax number of level-0 tables at which a compaction is due, 1 or more
 * @param fanout size of a level as a multiple of the level above it; used by {@link
 *     CompactionStrategy#LEVELED}
 * @param blockBytes size at which a table's block is closed; a block holds at least one pair,
 *     however large
 * @param bloomBitsPerKey bits for each key in a table's bloom filter; 0 for no filter
 * @param compression how the blocks of new tables are compressed; existing tables are read whatever
 *     this setting is
 * @param tableBytes size at which a compaction starts another table
 * @param compactionBytesPerSecondMax average rate at which compactions write tables; 0 for no limit
 * @param valueBytesMax longest value that is accepted; a flush holds a value in memory twice
 * @param stallMillisMax how long a write waits for flushes and compactions before it fails with
 *     {@link OverloadedException}
 * @param flushBacklog what a write meets if flushes do not keep up; only for the engine {@code
 *     textbook}
 * @param readPath how a lookup searches; only for the engine {@code textbook}
 */
public record LsmOptions(
    Path directory,
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
    long tableBytes,
    long compactionBytesPerSecondMax,
    int valueBytesMax,
    long stallMillisMax,
    FlushBacklog flushBacklog,
    ReadPath readPath) {

  private static final long MIB = 1024 * 1024;

  /**
   * Checks that every option is within its range.
   *
   * @throws IllegalArgumentException if one is not
   */
  public LsmOptions {
    Objects.requireNonNull(directory, "directory");
    Objects.requireNonNull(durability, "durability");
    inRange("flushThresholdBytes", flushThresholdBytes, 1, 1L << 40);
    inRange("flushThreads", flushThreads, 1, 64);
    inRange("memtablesMax", memtablesMax, 1, 1024);
    Objects.requireNonNull(compaction, "compaction");
    inRange("level0TablesMax", level0TablesMax, 1, 30);
    inRange("fanout", fanout, 2, 100);
    inRange("valueBytesMax", valueBytesMax, 1, Limits.VALUE_BYTES_MAX);
    inRange("blockBytes", blockBytes, 64, 16 * MIB);
    inRange("bloomBitsPerKey", bloomBitsPerKey, 0, 64);
    Objects.requireNonNull(compression, "compression");
    inRange("tableBytes", tableBytes, 1024, 1L << 40);
    inRange("compactionBytesPerSecondMax", compactionBytesPerSecondMax, 0, 1L << 40);
    inRange("stallMillisMax", stallMillisMax, 0, 3_600_000);
    Objects.requireNonNull(flushBacklog, "flushBacklog");
    Objects.requireNonNull(readPath, "readPath");
  }

  /** Returns the defaults for a store in this directory. */
  public static LsmOptions of(Path directory) {
    return builder(directory).build();
  }

  public static Builder builder(Path directory) {
    return new Builder(directory);
  }

  /**
   * Returns the number of bytes by which a WAL file is extended at a time: a 64th of a memtable, at
   * most 1 MiB.
   */
  public int logRoomBytes() {
    return Math.clamp(flushThresholdBytes / 64, 1, (int) MIB);
  }

  private static void inRange(String name, long value, long min, long max) {
    if (value < min || value > max) {
      throw new IllegalArgumentException(
          name + " must be " + min + " to " + max + ", not " + value);
    }
  }

  /** Collects options. {@link #build} checks them. Not thread-safe. */
  public static final class Builder {
    private final Path directory;
    private Durability durability = Durability.PROCESS;
    private long flushThresholdBytes = 64 * MIB;
    private int flushThreads = 1;
    private int memtablesMax = 4;
    private CompactionStrategy compaction = CompactionStrategy.LEVELED;
    private int level0TablesMax = 4;
    private int fanout = 10;
    private int blockBytes = 4096;
    private int bloomBitsPerKey = 10;
    private Compression compression = Compression.NONE;
    private long tableBytes = 64 * MIB;
    private long compactionBytesPerSecondMax = 0;

    /** An eighth of the heap, because a flush holds a value in memory twice. */
    private int valueBytesMax =
        (int) Math.min(Limits.VALUE_BYTES_MAX, Runtime.getRuntime().maxMemory() / 8);

    private long stallMillisMax = 1_000;
    private FlushBacklog flushBacklog = FlushBacklog.BLOCK;
    private ReadPath readPath = ReadPath.POINT;

    private Builder(Path directory) {
      this.directory = directory;
    }

    public Builder durability(Durability value) {
      durability = value;
      return this;
    }

    public Builder flushThresholdBytes(long value) {
      flushThresholdBytes = value;
      return this;
    }

    public Builder flushThreads(int value) {
      flushThreads = value;
      return this;
    }

    public Builder memtablesMax(int value) {
      memtablesMax = value;
      return this;
    }

    public Builder compaction(CompactionStrategy value) {
      compaction = value;
      return this;
    }

    public Builder level0TablesMax(int value) {
      level0TablesMax = value;
      return this;
    }

    public Builder fanout(int value) {
      fanout = value;
      return this;
    }

    public Builder valueBytesMax(int value) {
      valueBytesMax = value;
      return this;
    }

    public Builder blockBytes(int value) {
      blockBytes = value;
      return this;
    }

    public Builder bloomBitsPerKey(int value) {
      bloomBitsPerKey = value;
      return this;
    }

    public Builder compression(Compression value) {
      compression = value;
      return this;
    }

    public Builder tableBytes(long value) {
      tableBytes = value;
      return this;
    }

    public Builder compactionBytesPerSecondMax(long value) {
      compactionBytesPerSecondMax = value;
      return this;
    }

    public Builder stallMillisMax(long value) {
      stallMillisMax = value;
      return this;
    }

    public Builder flushBacklog(FlushBacklog value) {
      flushBacklog = value;
      return this;
    }

    public Builder readPath(ReadPath value) {
      readPath = value;
      return this;
    }

    public LsmOptions build() {
      return new LsmOptions(
          directory,
          durability,
          flushThresholdBytes,
          flushThreads,
          memtablesMax,
          compaction,
          level0TablesMax,
          fanout,
          blockBytes,
          bloomBitsPerKey,
          compression,
          tableBytes,
          compactionBytesPerSecondMax,
          valueBytesMax,
          stallMillisMax,
          flushBacklog,
          readPath);
    }
  }
}
