package lsmlab.server.variant.queue;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;

/** The action of a variant whose queue is full: the value of {@code queue_policy} in a configuration. */
public enum QueuePolicy {
  /** The new request gets 503; waiting requests keep their places. */
  REJECT_NEWEST,
  /**
   * The request that has waited longest gets 503 to make room for the new one: its client is the most likely to
   * have given up.
   */
  DROP_OLDEST,
  /**
   * The new request gets 503; so does a request that has waited longer than {@code deadline_ms} when it is taken
   * from the queue. No work is done for a client that has given up.
   */
  DROP_LATE;

  private final String label = name().toLowerCase(Locale.ROOT).replace('_', '-');

  /** Returns the name in a configuration. */
  public String label() {
    return label;
  }

  /** Returns the policy with this name, if there is one. */
  public static Optional<QueuePolicy> find(String label) {
    return Arrays.stream(values()).filter(policy -> policy.label.equals(label)).findFirst();
  }
}
