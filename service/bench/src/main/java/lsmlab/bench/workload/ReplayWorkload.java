package lsmlab.bench.workload;

import java.io.IOException;
import java.util.Map;
import lsmlab.bench.Pairs;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;

/** Opens the store whose process ended without closing it: bytes in the store's files by the time until it is open. */
final class ReplayWorkload implements Workload {

  @Override
  public Outcome run(Context context) throws IOException {
    context.prepareProcess();
    LsmOptions options = FillLogWorkload.options(context);
    long bytes = Stores.bytes(options.directory());
    long start = System.nanoTime();
    try (Engine engine = context.open(options)) {
      double seconds = (System.nanoTime() - start) / 1e9;
      byte[] key = new byte[Pairs.KEY_BYTES];
      for (int i = 0; i < FillLogWorkload.writes(context); i++) {
        Pairs.key(key, i);
        if (!context.pairs().isValue(engine.get(key), i, 0)) {
          throw new IllegalStateException("lost or changed: " + Pairs.keyText(i));
        }
      }
      return Outcome.of(Map.of("replay", bytes / 1e6 / seconds));
    }
  }
}
