package lsmlab.storage.stats;

import java.util.concurrent.atomic.AtomicLongArray;

/** Bytes that flushes and merges have read from and written to each level. Thread-safe. */
public final class LevelTraffic {

  private final AtomicLongArray read;
  private final AtomicLongArray written;

  /** Nothing was read or written yet. */
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
