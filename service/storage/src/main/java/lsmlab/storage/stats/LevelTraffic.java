package lsmlab.storage.stats;

import java.util.concurrent.atomic.AtomicLongArray;

/** Counts the bytes that flushes and compactions read from and write to each level. Thread-safe. */
public final class LevelTraffic {

  private final AtomicLongArray read;
  private final AtomicLongArray written;

  /** Makes counters that start at 0. */
  public LevelTraffic(int levels) {
    read = new AtomicLongArray(levels);
    written = new AtomicLongArray(levels);
  }

  public void addRead(int level, long bytes) {
    read.addAndGet(level, bytes);
  }

  public void addWritten(int level, long bytes) {
    written.addAndGet(level, bytes);
  }

  public long read(int level) {
    return read.get(level);
  }

  public long written(int level) {
    return written.get(level);
  }
}
