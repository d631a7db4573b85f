package lsmlab.bench.workload;

import java.util.Map;
import lsmlab.bench.Pairs;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;

/**
 * Opens the loaded store, cleanly closed before, in a JVM that has done nothing else: until the first GET is answered.
 * Loading a native library is not charged for; Java classes are.
 */
final class OpenWorkload implements Workload {

  @Override
  public Map<String, Double> run(Context context) {
    context.prepareProcess();
    byte[] key = new byte[Pairs.KEY_BYTES];
    int number = context.pairs().count() / 2;
    Pairs.key(key, number);
    long start = System.nanoTime();
    try (Engine engine =
        context.open(context.settings().base(context.engine()), Durability.PROCESS)) {
      byte[] value = engine.get(key);
      double millis = (System.nanoTime() - start) / 1e6;
      if (!context.pairs().isValue(value, number, 0)) {
        throw new IllegalStateException("wrong answer for " + Pairs.keyText(number));
      }
      return Map.of("open", millis);
    }
  }
}
