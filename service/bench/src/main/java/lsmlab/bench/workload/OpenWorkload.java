package lsmlab.bench.workload;

import java.util.LinkedHashMap;
import java.util.Map;
import lsmlab.bench.Pairs;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;

/**
 * Opens the loaded store, cleanly closed before: until the first GET is answered. Twice: <em>cold</em>, as the first
 * thing that the JVM does, which loads and interprets every class on the way; then again, as a process that runs does
 * it. Loading a native library is charged to neither.
 */
final class OpenWorkload implements Workload {

  @Override
  public Outcome run(Context context) {
    context.prepareProcess();
    Map<String, Double> figures = new LinkedHashMap<>();
    figures.put("open_cold", openMillis(context));
    figures.put("open", openMillis(context));
    return Outcome.of(figures);
  }

  private static double openMillis(Context context) {
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
      return millis;
    }
  }
}
