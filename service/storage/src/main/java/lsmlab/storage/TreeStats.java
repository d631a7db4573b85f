package lsmlab.storage;

import java.util.List;
import java.util.Map;

/**
 * A snapshot of a log-structured merge tree: its levels, its counters since it was opened, and its
 * three amplifications.
 *
 * @param levels all levels that can hold tables, level 0 first
 * @param acceptedBytes bytes of committed keys and values; a deletion counts the bytes of its key
 * @param walBytes bytes appended to the WAL
 * @param lookups number of lookups in tables: those whose key is in no memtable
 * @param absent number of these lookups that found no entry in any table
 * @param searchesWithoutHit number of searches of a block that did not hold the key
 * @param stallNanos nanoseconds for which writes were held back, by cause, summed over all threads
 */
public record TreeStats(
    List<Level> levels,
    long acceptedBytes,
    long walBytes,
    long lookups,
    long absent,
    long searchesWithoutHit,
    Map<StallCause, Long> stallNanos) {

  /** The statistics of an engine that has no levels. */
  public static final TreeStats NONE = new TreeStats(List.of(), 0, 0, 0, 0, 0, Map.of());

  /**
   * One level.
   *
   * @param level number of the level; flushes write to level 0
   * @param tables number of tables in this level
   * @param bytes size of these tables
   * @param score urgency of a compaction of this level; a compaction is due at 1 or more
   * @param bytesRead bytes that compactions have read from this level
   * @param bytesWritten bytes that flushes and compactions have written to this level
   */
  public record Level(
      int level, int tables, long bytes, double score, long bytesRead, long bytesWritten) {}

  /** Why writes are held back. */
  public enum StallCause {
    /** Writes are paced: memtables fill faster than they are flushed. */
    MEMTABLES_FILLING,
    /** Writes are stopped: there is no memory for another write until a memtable is flushed. */
    MEMTABLES_FULL,
    /** Writes are paced: tables reach level 0 faster than they are compacted. */
    LEVEL0_GROWING,
    /** Writes are stopped: level 0 holds its maximum number of tables. */
    LEVEL0_FULL
  }

  /** Returns the number of block searches, both those that found the key and those that did not. */
  public long searches() {
    return lookups - absent + searchesWithoutHit;
  }

  /**
   * Returns the number of bytes written to the WAL and to tables for each byte accepted; 0 before
   * the first write. Does not count the zeros that preallocate the WAL, or what the file system
   * itself writes.
   */
  public double writeAmplification() {
    long written = walBytes + levels.stream().mapToLong(Level::bytesWritten).sum();
    return ratio(written, acceptedBytes);
  }

  /**
   * Returns the mean number of tables that a lookup searched if no memtable answered it; 0 before
   * the first such lookup.
   */
  public double readAmplification() {
    return ratio(searches(), lookups);
  }

  /**
   * Returns the size of all tables divided by the size of the deepest level; 0 while all tables are
   * in level 0. The deepest level holds each of its keys once. If other levels hold keys that it
   * lacks, the true space amplification is lower. Source: Dong et al., "Optimizing Space
   * Amplification in RocksDB" (2017), section 2.
   */
  public double spaceAmplification() {
    long all = levels.stream().mapToLong(Level::bytes).sum();
    return levels.reversed().stream()
        .filter(level -> level.bytes() > 0)
        .findFirst()
        .filter(deepest -> deepest.level() > 0)
        .map(deepest -> ratio(all, deepest.bytes()))
        .orElse(0.0);
  }

  private static double ratio(long part, long whole) {
    return whole == 0 ? 0 : (double) part / whole;
  }
}
