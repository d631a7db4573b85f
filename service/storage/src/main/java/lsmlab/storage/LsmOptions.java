package lsmlab.storage;

import java.nio.file.Path;
import java.util.Objects;

/**
 * How an {@link LsmEngine} is laid out and what it promises. Made by {@link #builder}, whose setters give the defaults.
 *
 * @param directory the store; made where it does not exist
 * @param durability what an acknowledged write survives
 * @param flushThresholdBytes size at which a memtable is sealed and handed to a flush thread
 * @param flushThreads threads that turn sealed memtables into tables, 1 or more
 * @param memtablesMax sealed memtables that may wait for a flush before writes are held back, 1 or more
 * @param compaction whether tables are merged in the background; {@link Engine#compact} works either way
 * @param blockBytes size at which a table's block is closed: a block is at least one pair, however large
 * @param bloomBitsPerKey size of a table's filter; 0 for none
 * @param tableBytes size at which compaction begins another table
 * @param compactionBytesPerSecondMax rate at which merging writes tables, over a few of them; 0 for no limit
 * @param stallMillisMax how long a write waits for flushes before it fails with {@link OverloadedException}
 */
public record LsmOptions(
    Path directory,
    Durability durability,
    long flushThresholdBytes,
    int flushThreads,
    int memtablesMax,
    boolean compaction,
    int blockBytes,
    int bloomBitsPerKey,
    long tableBytes,
    long compactionBytesPerSecondMax,
    long stallMillisMax) {

  private static final long MIB = 1024 * 1024;

  /** Checks every range. */
  public LsmOptions {
    Objects.requireNonNull(directory, "directory");
    Objects.requireNonNull(durability, "durability");
    inRange("flushThresholdBytes", flushThresholdBytes, 1, 1L << 40);
    inRange("flushThreads", flushThreads, 1, 64);
    inRange("memtablesMax", memtablesMax, 1, 1024);
    inRange("blockBytes", blockBytes, 64, 16 * MIB);
    inRange("bloomBitsPerKey", bloomBitsPerKey, 0, 64);
    inRange("tableBytes", tableBytes, 1024, 1L << 40);
    inRange("compactionBytesPerSecondMax", compactionBytesPerSecondMax, 0, 1L << 40);
    inRange("stallMillisMax", stallMillisMax, 0, 3_600_000);
  }

  /** The defaults, for a store in this directory. */
  public static LsmOptions of(Path directory) {
    return builder(directory).build();
  }

  public static Builder builder(Path directory) {
    return new Builder(directory);
  }

  /** By how much a log is made longer at a time, where it is: a small part of what it will hold, at most 1 MiB. */
  int logRoomBytes() {
    return Math.clamp(flushThresholdBytes / 64, 1, (int) MIB);
  }

  private static void inRange(String name, long value, long min, long max) {
    if (value < min || value > max) {
      throw new IllegalArgumentException(
          name + " is " + value + ", allowed are " + min + " to " + max);
    }
  }

  /** Collects options; {@link #build} checks them. Not thread-safe. */
  public static final class Builder {
    private final Path directory;
    private Durability durability = Durability.PROCESS;
    private long flushThresholdBytes = 64 * MIB;
    private int flushThreads = 1;
    private int memtablesMax = 4;
    private boolean compaction = true;
    private int blockBytes = 4096;
    private int bloomBitsPerKey = 10;
    private long tableBytes = 64 * MIB;
    private long compactionBytesPerSecondMax = 0;
    private long stallMillisMax = 1_000;

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

    public Builder compaction(boolean value) {
      compaction = value;
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

    public LsmOptions build() {
      return new LsmOptions(
          directory,
          durability,
          flushThresholdBytes,
          flushThreads,
          memtablesMax,
          compaction,
          blockBytes,
          bloomBitsPerKey,
          tableBytes,
          compactionBytesPerSecondMax,
          stallMillisMax);
    }
  }
}
