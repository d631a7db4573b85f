package lsmlab.storage.stats;

import java.util.concurrent.atomic.LongAdder;

/** Counts what lookups met in tables. Thread-safe; many threads count at once without a common cell. */
public final class LookupCounts {

  private final LongAdder lookups = new LongAdder();
  private final LongAdder absent = new LongAdder();
  private final LongAdder filtered = new LongAdder();
  private final LongAdder searchesInVain = new LongAdder();
  private final LongAdder falsePositives = new LongAdder();

  /**
   * Counts a lookup that has ended.
   *
   * @param tablesFiltered tables that a filter spared
   * @param tablesInVain tables that were searched and did not hold the key
   * @param tablesWrong those of them whose filter let the lookup pass
   */
  public void count(boolean found, int tablesFiltered, int tablesInVain, int tablesWrong) {
    lookups.increment();
    if (!found) {
      absent.increment();
    }
    // Mostly zero, and adding zero costs as much as adding any other number.
    if (tablesFiltered > 0) {
      filtered.add(tablesFiltered);
    }
    if (tablesInVain > 0) {
      searchesInVain.add(tablesInVain);
      falsePositives.add(tablesWrong);
    }
  }

  public long lookups() {
    return lookups.sum();
  }

  public long absent() {
    return absent.sum();
  }

  public long filtered() {
    return filtered.sum();
  }

  public long searchesInVain() {
    return searchesInVain.sum();
  }

  public long falsePositives() {
    return falsePositives.sum();
  }
}
