package lsmlab.server.variant;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;

/** What a worker does while its queue is empty: {@code idle} in a configuration. */
public enum IdleStrategy {
  /** Sleeps until a submit wakes it: no CPU while idle, a system call on both sides for each wake-up. */
  PARK,
  /** Yields its CPU to other threads and checks again: no wake-up, and a CPU that is always busy. */
  YIELD,
  /** Checks again at once: the shortest hand-off if every worker has a CPU of its own, the worst one if not. */
  SPIN;

  private final String label = name().toLowerCase(Locale.ROOT);

  /** The name in a configuration. */
  public String label() {
    return label;
  }

  /** The strategy of that name, if there is one. */
  public static Optional<IdleStrategy> find(String label) {
    return Arrays.stream(values()).filter(strategy -> strategy.label.equals(label)).findFirst();
  }
}
