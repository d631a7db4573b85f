package lsmlab.bench.workload;

import java.util.Map;
import lsmlab.bench.Pairs;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;

/** Fills the WAL of an empty store, with a memtable so large that nothing is flushed, and leaves the store unclosed. */
final class FillLogWorkload implements Workload {

  static LsmOptions options(Context context) {
    return LsmOptions.builder(context.settings().scratch(context.engine()))
        .flushThresholdBytes(4 * context.settings().replayBytes())
        .build();
  }

  static int writes(Context context) {
    return (int)
        Math.max(
            1,
            context.settings().replayBytes() / (Pairs.KEY_BYTES + context.settings().valueBytes()));
  }

  /** The caller must end the process without closing anything. */
  @Override
  public Outcome run(Context context) {
    byte[] key = new byte[Pairs.KEY_BYTES];
    Engine engine = context.open(options(context));
    for (int i = 0; i < writes(context); i++) {
      Pairs.key(key, i);
      Latency.put(engine, context.pairs(), key, i, 0);
    }
    return Outcome.of(Map.of());
  }
}
