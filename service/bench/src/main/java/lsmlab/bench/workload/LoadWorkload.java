package lsmlab.bench.workload;

import java.util.Map;
import lsmlab.bench.Pairs;
import lsmlab.storage.Engine;

/** Makes the store that others read: every pair in key order, compacted, closed. */
final class LoadWorkload implements Workload {

  @Override
  public Outcome run(Context context) {
    Pairs pairs = context.pairs();
    byte[] key = new byte[Pairs.KEY_BYTES];
    try (Engine engine = context.openForLoading(context.settings().base(context.engine()))) {
      for (int i = 0; i < pairs.count(); i++) {
        Pairs.key(key, i);
        engine.put(
            key, 0, key.length, pairs.pool(), pairs.valueOffset(i, 0), pairs.valueLength(i, 0));
      }
      engine.flush();
      engine.compact();
      engine.quiesce();
    }
    return Outcome.of(Map.of());
  }
}
