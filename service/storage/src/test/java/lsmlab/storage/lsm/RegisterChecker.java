package lsmlab.storage.lsm;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * Decides whether a concurrent history of one register is linearizable: whether each operation can be given a moment
 * between its call and its return such that each read gives what the write before it wrote.
 *
 * <p>The search is that of Wing and Gong ("Testing and verifying concurrent objects", 1993) with the states it has been
 * in remembered, after Lowe ("Testing for linearizability", 2017). A write that never returned may have any moment after
 * its call, or none.
 */
final class RegisterChecker {

  /** The return of an operation that never returned. */
  static final long NEVER = Long.MAX_VALUE;

  /**
   * @param called and {@code returned}: moments on one clock; an operation that was called at the moment at which another
   *     returned counts as concurrent
   * @param value written or read; null for absent
   */
  record Operation(boolean isWrite, String value, long called, long returned) {}

  private record State(BitSet done, String value) {}

  private final List<Operation> operations;
  private final Set<State> seen = new HashSet<>();

  private RegisterChecker(List<Operation> operations) {
    this.operations = operations;
  }

  /** Whether the history is linearizable, the register being absent at first. A read that never returned is left out. */
  static boolean isLinearizable(List<Operation> history) {
    List<Operation> operations = new ArrayList<>(history);
    operations.removeIf(operation -> !operation.isWrite() && operation.returned() == NEVER);
    return new RegisterChecker(operations).search();
  }

  /** Depth first, with a stack of its own: a history is longer than a thread's stack may be deep. */
  private boolean search() {
    List<State> open = new ArrayList<>();
    State beginning = new State(new BitSet(operations.size()), null);
    open.add(beginning);
    seen.add(beginning);
    while (!open.isEmpty()) {
      State state = open.remove(open.size() - 1);
      long firstReturn = NEVER;
      for (int i = state.done().nextClearBit(0);
          i < operations.size();
          i = state.done().nextClearBit(i + 1)) {
        firstReturn = Math.min(firstReturn, operations.get(i).returned());
      }
      if (firstReturn == NEVER) {
        return true;
      }
      for (int i = state.done().nextClearBit(0);
          i < operations.size();
          i = state.done().nextClearBit(i + 1)) {
        Operation next = operations.get(i);
        boolean mayBeNext = next.called() <= firstReturn;
        if (mayBeNext && (next.isWrite() || Objects.equals(next.value(), state.value()))) {
          BitSet done = (BitSet) state.done().clone();
          done.set(i);
          State after = new State(done, next.isWrite() ? next.value() : state.value());
          if (seen.add(after)) {
            open.add(after);
          }
        }
      }
    }
    return false;
  }
}
