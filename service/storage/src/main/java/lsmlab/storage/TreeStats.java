package lsmlab.storage;

import java.util.List;
import java.util.Map;

/**
 * The levels of a log-structured merge tree as they are now, counters since it was opened, and its three amplifications.
 *
 * @param levels from level 0 down, all that can hold tables
 * @param acceptedBytes keys and values of the writes that were committed; a deletion counts its key
 * @param walBytes appended to the WAL
 * @param lookups that no memtable answered, so that tables were asked
 * @param absent those of them that found nothing
 * @param searchesInVain tables of which a block was searched and that did not hold the key
 * @param stallNanos time that writes were held back, by cause, of all threads together
 */
public record TreeStats(
    List<Level> levels,
    long acceptedBytes,
    long walBytes,
    long lookups,
    long absent,
    long searchesInVain,
    Map<StallCause, Long> stallNanos) {

  /** Of an engine that has no levels. */
  public static final TreeStats NONE = new TreeStats(List.of(), 0, 0, 0, 0, 0, Map.of());

  /**
   * A level.
   *
   * @param level 0 for the tables of flushed memtables
   * @param tables in it
   * @param bytes of them
   * @param score how urgent a merge of it is; from 1 on it is due
   * @param bytesRead by merges, of its tables
   * @param bytesWritten into it, by flushes and merges
   */
  public record Level(
      int level, int tables, long bytes, double score, long bytesRead, long bytesWritten) {}

  /** Why writes are held back. */
  public enum StallCause {
    /** Paced: memtables fill faster than they are flushed. */
    MEMTABLES_FILLING,
    /** Stopped: there is no memory for another write until a memtable is flushed. */
    MEMTABLES_FULL,
    /** Paced: tables of level 0 come faster than they are merged. */
    LEVEL0_GROWING,
    /** Stopped: level 0 has as many tables as it may have. */
    LEVEL0_FULL
  }

  /** Tables of which a block was searched. */
  public long searches() {
    return lookups - absent + searchesInVain;
  }

  /**
   * Bytes written to the WAL and to tables for each byte accepted; 0 before the first write. What the file system writes
   * besides, and room made ahead in the WAL, is not in it.
   */
  public double writeAmplification() {
    long written = walBytes + levels.stream().mapToLong(Level::bytesWritten).sum();
    return ratio(written, acceptedBytes);
  }

  /** Tables searched by each lookup that asked tables at all; 0 before the first. */
  public double readAmplification() {
    return ratio(searches(), lookups);
  }

  /**
   * Bytes of all tables for each byte of the deepest level, which holds each key once; 0 while all tables are in level 0.
   * As far as newer levels hold keys that the deepest one does not have, it is less than that. Source: Dong et al.,
   * "Optimizing Space Amplification in RocksDB" (2017), section 2.
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
