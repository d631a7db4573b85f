package lsmlab.storage.stats;

import java.util.concurrent.atomic.LongAdder;

/** Counts the results of lookups in tables. Thread-safe. Threads do not contend for one counter. */
public final class LookupCounts {

  private final LongAdder found = new LongAdder();
  private final LongAdder absent = new LongAdder();
  private final LongAdder filtered = new LongAdder();
  private final LongAdder searchesWithoutHit = new LongAdder();
  private final LongAdder falsePositives = new LongAdder();

  /**
   * Counts a finished lookup.
   *
   * @param tablesFiltered number of tables that the bloom filter excluded
   * @param tablesWithoutHit number of tables that were searched and do not hold the key
   * @param filterFalsePositives number of false positives of bloom filters among these searches
   */
  public void count(
      boolean isFound, int tablesFiltered, int tablesWithoutHit, int filterFalsePositives) {
    (isFound ? found : absent).increment();
    // Usually zero, and adding zero would cost as much as adding another number.
    if (tablesFiltered > 0) {
      filtered.add(tablesFiltered);
    }
    if (tablesWithoutHit > 0) {
      searchesWithoutHit.add(tablesWithoutHit);
      falsePositives.add(filterFalsePositives);
    }
  }

  public long lookups() {
    return found.sum() + absent.sum();
  }

  public long absent() {
    return absent.sum();
  }

  public long filtered() {
    return filtered.sum();
  }

  public long searchesWithoutHit() {
    return searchesWithoutHit.sum();
  }

  public long falsePositives() {
    return falsePositives.sum();
  }
}
