package lsmlab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import lsmlab.storage.lsm.RegisterChecker.Operation;
import org.junit.jupiter.api.Test;

/**
 * Checks the checker, with histories that are known to be linearizable and others that are known
 * not to be.
 */
class RegisterCheckerTest {

  private static Operation write(String value, long called, long returned) {
    return new Operation(true, value, called, returned);
  }

  private static Operation read(String value, long called, long returned) {
    return new Operation(false, value, called, returned);
  }

  private static boolean check(Operation... history) {
    return RegisterChecker.isLinearizable(List.of(history));
  }

  @Test
  void acceptsLinearizableHistories() {
    assertTrue(check());
    assertTrue(check(read(null, 1, 2)));
    assertTrue(check(write("a", 1, 2), read("a", 3, 4), write(null, 5, 6), read(null, 7, 8)));
    assertTrue(check(write("a", 1, 10), read(null, 2, 3), read("a", 4, 5)), "during a write");
    assertTrue(check(write("a", 1, 10), write("b", 1, 10), read("b", 11, 12)), "either order");
    assertTrue(
        check(write("a", 1, RegisterChecker.NEVER), read(null, 5, 6), read("a", 7, 8)),
        "a pending write may come late");
    assertTrue(
        check(write("a", 1, 2), write("b", 3, RegisterChecker.NEVER), read("a", 9, 10)), "or not");
  }

  @Test
  void refusesPlantedViolations() {
    assertFalse(check(write("a", 1, 2), read(null, 3, 4)), "a lost write");
    assertFalse(check(write("a", 1, 2), write("b", 3, 4), read("a", 5, 6)), "a stale read");
    assertFalse(check(read("a", 1, 2), write("a", 3, 4)), "a read of the future");
    assertFalse(
        check(write("a", 1, 10), read("a", 2, 3), read(null, 4, 5)), "a write that goes again");
    assertFalse(check(write("a", 1, 2), read("c", 3, 4)), "out of thin air");
    assertFalse(
        check(write("a", 1, 10), write("b", 1, 10), read("a", 11, 12), read("b", 13, 14)),
        "two reads that disagree on the order");
    assertFalse(
        check(
            write("a", 1, 2),
            write("b", 3, RegisterChecker.NEVER),
            read("b", 4, 5),
            read("a", 6, 7)),
        "a pending write that came and went");
  }

  /**
   * Random histories of a real register are linearizable. With one read changed to an older value,
   * most are not.
   */
  @Test
  void findsOneWrongReadInALongHistory() {
    int refused = 0;
    for (int seed = 0; seed < 200; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      List<Operation> history = new ArrayList<>();
      String value = null;
      int lastRead = -1;
      for (int i = 0; i < 200; i++) {
        // Moments 10 apart, each operation stretched by up to 25 either way: about five overlap.
        long moment = 1_000 + 10L * i;
        long called = moment - random.nextInt(25);
        long returned = moment + random.nextInt(25);
        if (random.nextInt(3) == 0) {
          value = random.nextInt(5) == 0 ? null : "v" + i;
          history.add(write(value, called, returned));
        } else {
          lastRead = history.size();
          history.add(read(value, called, returned));
        }
      }
      assertTrue(RegisterChecker.isLinearizable(history), "seed " + seed);
      String old =
          history.stream()
              .filter(each -> each.isWrite() && each.value() != null)
              .findFirst()
              .orElseThrow()
              .value();
      Operation wrong = history.get(lastRead);
      history.set(lastRead, read(old, wrong.called(), wrong.returned()));
      refused += RegisterChecker.isLinearizable(history) ? 0 : 1;
    }
    assertEquals(200, refused);
  }
}
