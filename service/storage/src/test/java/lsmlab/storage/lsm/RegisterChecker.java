package lsmlab.storage.lsm;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * Decides whether a concurrent history of one register is linearizable. It is if each operation can
 * be given a moment between its call and its return, so that each read returns the value of the last
 * write before it.
 *
 * <p>Source: the search of Wing and Gong ("Testing and verifying concurrent objects", 1993), which
 * also remembers visited states as in Lowe ("Testing for linearizability", 2017). A write that
 * never returned takes effect at any moment after its call, or never.
 */
final class RegisterChecker {

  /** Return time of an operation that never returned. */
  static final long NEVER = Long.MAX_VALUE;

  /**
   * @param called and {@code returned}: moments on one clock; an operation that was called at the
   *     moment at which another returned counts as concurrent
   * @param value written or read; null for absent
   */
  record Operation(boolean isWrite, String value, long called, long returned) {}

  private record State(BitSet done, String value) {}

  private final List<Operation> operations;
  private final Set<State> seen = new HashSet<>();

  private RegisterChecker(List<Operation> operations) {
    this.operations = operations;
  }

  /**
   * Whether the history is linearizable. The register starts absent. Reads that never returned are
   * ignored.
   */
  static boolean isLinearizable(List<Operation> history) {
    List<Operation> operations = new ArrayList<>(history);
    operations.removeIf(operation -> !operation.isWrite() && operation.returned() == NEVER);
    return new RegisterChecker(operations).search();
  }

  /**
   * Searches depth first, with an explicit stack, because a history may be longer than a thread's
   * stack is deep.
   */
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
