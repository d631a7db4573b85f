package lsmlab.bench.storage;

import java.util.LinkedHashMap;
import java.util.Map;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;

/** Creates a store, opens it, and replays its WAL. */
final class StoreWorkloads {

  private StoreWorkloads() {}

  /**
   * Creates the store that other workloads read: writes every pair in key order, compacts and
   * closes it.
   */
  static Map<String, Double> load(Context context) {
    try (Engine engine = context.openForLoading()) {
      WriteWorkloads.Writer writer = new WriteWorkloads.Writer(engine, context.pairs());
      for (int i = 0; i < context.pairs().count(); i++) {
        writer.putFirst(i);
      }
      engine.flush();
      engine.compact();
      engine.quiesce();
    }
    return Map.of();
  }

  /**
   * Opens the loaded store, which was closed cleanly, and waits for the first GET. The first time
   * is {@code open_cold}, for which the JVM loads and interprets all classes. Loading a native
   * library does not count.
   */
  static Map<String, Double> open(Context context) {
    context.prepareProcess();
    Map<String, Double> figures = new LinkedHashMap<>();
    figures.put("open_cold", openMillis(context));
    figures.put("open", openMillis(context));
    return figures;
  }

  private static double openMillis(Context context) {
    byte[] key = new byte[Pairs.KEY_BYTES];
    int number = context.pairs().count() / 2;
    Pairs.key(key, number);
    long start = System.nanoTime();
    try (Engine engine = context.open(context.base(), Durability.PROCESS)) {
      byte[] value = engine.get(key);
      double millis = (System.nanoTime() - start) / 1e6;
      if (!context.pairs().isValue(value, number, 0)) {
        throw new IllegalStateException("wrong value of " + Pairs.keyText(number));
      }
      return millis;
    }
  }

  /**
   * Fills the WAL of an empty store without a flush. The caller must end the process without
   * closing the store.
   */
  static Map<String, Double> fillLog(Context context) {
    Engine engine = context.open(replayOptions(context));
    WriteWorkloads.Writer writer = new WriteWorkloads.Writer(engine, context.pairs());
    for (int i = 0; i < replayPairs(context); i++) {
      writer.putFirst(i);
    }
    return Map.of();
  }

  /**
   * Opens the store that {@link #fillLog} left. The rate is the bytes of its files divided by the
   * time to open it.
   */
  static Map<String, Double> replay(Context context) {
    context.prepareProcess();
    LsmOptions options = replayOptions(context);
    long bytes = Stores.bytes(options.directory());
    long start = System.nanoTime();
    try (Engine engine = context.open(options)) {
      double seconds = (System.nanoTime() - start) / 1e9;
      byte[] key = new byte[Pairs.KEY_BYTES];
      for (int i = 0; i < replayPairs(context); i++) {
        Pairs.key(key, i);
        if (!context.pairs().isValue(engine.get(key), i, 0)) {
          throw new IllegalStateException("lost or changed: " + Pairs.keyText(i));
        }
      }
      return Map.of("replay", bytes / 1e6 / seconds);
    }
  }

  private static LsmOptions replayOptions(Context context) {
    return LsmOptions.builder(context.scratch())
        .flushThresholdBytes(4 * context.settings().replayBytes())
        .build();
  }

  private static int replayPairs(Context context) {
    Settings settings = context.settings();
    long pairBytes = Pairs.KEY_BYTES + settings.valueBytes();
    return (int) Math.max(1, settings.replayBytes() / pairBytes);
  }
}
