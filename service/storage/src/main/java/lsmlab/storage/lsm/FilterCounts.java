package lsmlab.storage.lsm;

import java.util.concurrent.atomic.LongAdder;

/** Counts what filters spared and where they were wrong. Thread-safe; many threads count at once without a common cell. */
final class FilterCounts implements TableSet.FilterCounter {

  private final LongAdder negatives = new LongAdder();
  private final LongAdder falsePositives = new LongAdder();

  @Override
  public void negative() {
    negatives.increment();
  }

  @Override
  public void falsePositive() {
    falsePositives.increment();
  }

  long negatives() {
    return negatives.sum();
  }

  long falsePositives() {
    return falsePositives.sum();
  }
}
