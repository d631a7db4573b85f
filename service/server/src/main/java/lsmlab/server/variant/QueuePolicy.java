package lsmlab.server.variant;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;

/** What a variant does when more requests come than its queue may hold: a configuration's {@code queue_policy}. */
public enum QueuePolicy {
  /** Who comes last is answered 503: what waits keeps its place. */
  REJECT_NEWEST,
  /** The request that has waited longest is answered 503 in favour of the new one: its client waits least for nothing. */
  DROP_OLDEST,
  /**
   * Who comes last is answered 503, and so is whoever has waited longer than {@code deadline_ms} when his turn comes: no
   * work is done for a client that has given up.
   */
  DROP_LATE;

  private final String label = name().toLowerCase(Locale.ROOT).replace('_', '-');

  /** As a configuration names it. */
  public String label() {
    return label;
  }

  /** The policy of that name, if there is one. */
  public static Optional<QueuePolicy> find(String label) {
    return Arrays.stream(values()).filter(policy -> policy.label.equals(label)).findFirst();
  }
}
