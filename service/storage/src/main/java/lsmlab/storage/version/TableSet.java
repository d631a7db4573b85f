package lsmlab.storage.version;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.ValueSink;
import lsmlab.storage.cursor.Cursor;
import lsmlab.storage.file.Bytes;
import lsmlab.storage.manifest.TableEntry;
import lsmlab.storage.stats.LookupCounts;
import lsmlab.storage.table.LevelCursor;
import lsmlab.storage.table.Lookup;
import lsmlab.storage.table.Table;

/** The tables of a store at one moment, by level. Immutable except for its reference count. */
public final class TableSet {

  /** A table and its level and order. */
  public record Placed(TableEntry entry, Table table) {}

  /** Tables of level 0, newest first. Their keys may overlap. */
  private final List<Placed> newestFirst;

  /** Tables of levels 1, 2, …, by key. Tables of one level do not overlap. */
  private final List<List<Placed>> levels;

  private final Table[] newestFirstTables;
  private final Table[][] levelTables;
  private final long bytes;
  private final int count;

  /**
   * Number of references to this set. A version that has the same tables as the one before takes
   * one reference, instead of one for each table.
   */
  private final AtomicInteger references = new AtomicInteger();

  public TableSet(List<Placed> tables) {
    TreeMap<Integer, List<Placed>> byLevel = new TreeMap<>();
    for (Placed placed : tables) {
      byLevel.computeIfAbsent(placed.entry().level(), level -> new ArrayList<>()).add(placed);
    }
    List<Placed> top = byLevel.getOrDefault(0, new ArrayList<>());
    top.sort(
        Comparator.comparingLong((Placed placed) -> placed.entry().order())
            .thenComparingLong(placed -> placed.entry().number())
            .reversed());
    newestFirst = List.copyOf(top);
    List<List<Placed>> sorted = new ArrayList<>();
    int deepest = byLevel.isEmpty() ? 0 : byLevel.lastKey();
    for (int level = 1; level <= deepest; level++) {
      List<Placed> run = byLevel.getOrDefault(level, new ArrayList<>());
      run.sort((a, b) -> Arrays.compareUnsigned(a.table().minKey(), b.table().minKey()));
      for (int i = 1; i < run.size(); i++) {
        Table left = run.get(i - 1).table();
        Table right = run.get(i).table();
        if (Arrays.compareUnsigned(left.maxKey(), right.minKey()) >= 0) {
          throw new CorruptionException(
              "tables %d and %d overlap in level %d"
                  .formatted(left.number(), right.number(), level));
        }
      }
      sorted.add(List.copyOf(run));
    }
    levels = List.copyOf(sorted);
    newestFirstTables = tables(newestFirst);
    levelTables = levels.stream().map(TableSet::tables).toArray(Table[][]::new);
    bytes = tables.stream().mapToLong(placed -> placed.table().bytes()).sum();
    count = tables.size();
  }

  private static Table[] tables(List<Placed> placed) {
    return placed.stream().map(Placed::table).toArray(Table[]::new);
  }

  /** Returns these tables without the removed ones and with the added ones. */
  TableSet changed(Set<Table> removed, List<Placed> added) {
    List<Placed> all = new ArrayList<>();
    for (Placed placed : placed()) {
      if (!removed.contains(placed.table())) {
        all.add(placed);
      }
    }
    assert all.size() + removed.size() == count : "a table was removed that is not there";
    all.addAll(added);
    return new TableSet(all);
  }

  /**
   * Looks up a key, newest table first. Returns a constant of {@link Lookup}, but never {@link
   * Lookup#FILTERED}.
   */
  public int get(byte[] key, int keyOffset, int keyLength, ValueSink sink, LookupCounts counts) {
    if (count == 0) {
      return Lookup.ABSENT;
    }
    long hash = Bytes.hash(key, keyOffset, keyLength);
    int filtered = 0;
    int misses = 0;
    int falsePositives = 0;
    int found = Lookup.ABSENT;
    int runs = newestFirstTables.length + levelTables.length;
    for (int i = 0; i < runs && found == Lookup.ABSENT; i++) {
      Table table = candidate(i, key, keyOffset, keyLength);
      if (table == null) {
        continue;
      }
      found = table.get(hash, key, keyOffset, keyLength, sink);
      if (found == Lookup.FILTERED) {
        filtered++;
        found = Lookup.ABSENT;
      } else if (found == Lookup.ABSENT) {
        misses++;
        falsePositives += table.hasFilter() ? 1 : 0;
      }
    }
    counts.count(found != Lookup.ABSENT, filtered, misses, falsePositives);
    return found;
  }

  /**
   * Returns the table of a run that may hold the key, or null. Each table of level 0 is a run, and
   * so is each further level.
   */
  private Table candidate(int run, byte[] key, int keyOffset, int keyLength) {
    if (run < newestFirstTables.length) {
      Table table = newestFirstTables[run];
      return table.covers(key, keyOffset, keyLength) ? table : null;
    }
    Table[] level = levelTables[run - newestFirstTables.length];
    int at = LevelCursor.firstEndingFrom(level, key, keyOffset, keyLength);
    // A filter nearly always rejects a key that lies in a gap between tables.
    return at < level.length
            && (level[at].hasFilter() || level[at].covers(key, keyOffset, keyLength))
        ? level[at]
        : null;
  }

  /** Adds a cursor for each table of level 0 and each further level, newest first. */
  public void addCursors(List<Cursor> cursors) {
    for (Table table : newestFirstTables) {
      cursors.add(table.cursor());
    }
    for (Table[] level : levelTables) {
      if (level.length > 0) {
        cursors.add(new LevelCursor(level));
      }
    }
  }

  public List<Placed> newestFirst() {
    return newestFirst;
  }

  /** Returns the tables of each level from 1 on, by key. Level 1 is at index 0. */
  public List<List<Placed>> levels() {
    return levels;
  }

  public List<Placed> placed() {
    List<Placed> all = new ArrayList<>(newestFirst);
    levels.forEach(all::addAll);
    return all;
  }

  public int count() {
    return count;
  }

  public long bytes() {
    return bytes;
  }

  /**
   * Takes a reference. The first call takes a reference to each table, so another owner must hold
   * references to the tables.
   */
  void retain() {
    if (references.getAndIncrement() == 0) {
      placed().forEach(placed -> placed.table().retain());
    }
  }

  /** Releases a reference. The last one releases the references to the tables. */
  void release() throws IOException {
    int left = references.decrementAndGet();
    assert left >= 0 : "a set of tables was released too often";
    if (left == 0) {
      releaseTables();
    }
  }

  /** Releases a reference to each table, even if one release fails. */
  public void releaseTables() throws IOException {
    IOException failure = null;
    for (Placed placed : placed()) {
      try {
        placed.table().release();
      } catch (IOException e) {
        failure = e;
      }
    }
    if (failure != null) {
      throw failure;
    }
  }

  public static Set<Table> tableSet(List<Placed> placed) {
    Set<Table> tables = new HashSet<>();
    placed.forEach(each -> tables.add(each.table()));
    return tables;
  }
}
