package lsmlab.storage;

import java.util.List;
import java.util.Map;

/**
 * The current levels of a log-structured merge tree, counters since it was opened, and its three
 * amplifications.
 *
 * @param levels all levels that can hold tables, from level 0 down
 * @param acceptedBytes bytes of the keys and values that were committed; a deletion counts its key
 * @param walBytes bytes appended to the WAL
 * @param lookups lookups that no memtable answered, so that tables were searched
 * @param absent lookups among them that found nothing
 * @param searchesInVain tables in which a block was searched although they do not hold the key
 * @param stallNanos time for which writes were held back, by cause, summed over all threads
 */
public record TreeStats(
    List<Level> levels,
    long acceptedBytes,
    long walBytes,
    long lookups,
    long absent,
    long searchesInVain,
    Map<StallCause, Long> stallNanos) {

  /** The statistics of an engine that has no levels. */
  public static final TreeStats NONE = new TreeStats(List.of(), 0, 0, 0, 0, 0, Map.of());

  /**
   * One level.
   *
   * @param level number of the level; flushes write to level 0
   * @param tables in this level
   * @param bytes of these tables
   * @param score how urgent a merge of this level is; from 1 on it is due
   * @param bytesRead bytes of its tables that merges have read
   * @param bytesWritten bytes that flushes and merges have written into it
   */
  public record Level(
      int level, int tables, long bytes, double score, long bytesRead, long bytesWritten) {}

  /** Why writes are held back. */
  public enum StallCause {
    /** Writes are paced: memtables fill faster than they are flushed. */
    MEMTABLES_FILLING,
    /** Writes are stopped: there is no memory for another write until a memtable is flushed. */
    MEMTABLES_FULL,
    /** Writes are paced: tables reach level 0 faster than they are merged. */
    LEVEL0_GROWING,
    /** Writes are stopped: level 0 has as many tables as it may have. */
    LEVEL0_FULL
  }

  /** Returns the number of tables in which a block was searched. */
  public long searches() {
    return lookups - absent + searchesInVain;
  }

  /**
   * Returns the bytes written to the WAL and to tables for each byte accepted; 0 before the first
   * write. Excludes the zeros that preallocate WAL space and what the file system writes for
   * itself.
   */
  public double writeAmplification() {
    long written = walBytes + levels.stream().mapToLong(Level::bytesWritten).sum();
    return ratio(written, acceptedBytes);
  }

  /** Returns the tables searched by each lookup that no memtable answered; 0 before the first. */
  public double readAmplification() {
    return ratio(searches(), lookups);
  }

  /**
   * Returns the bytes of all tables for each byte of the deepest level, which holds each key once;
   * 0 while all tables are in level 0. The true value is lower if newer levels hold keys that the
   * deepest level lacks. Source: Dong et al., "Optimizing Space Amplification in RocksDB" (2017),
   * section 2.
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
