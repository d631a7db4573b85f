package lsmlab.bench.storage;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongToIntFunction;
import java.util.function.Supplier;
import lsmlab.bench.storage.Drive.Limit;
import lsmlab.bench.storage.Drive.Operation;
import lsmlab.bench.storage.Drive.Result;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;
import lsmlab.storage.Scan;

/**
 * Reads of the loaded store. A GET returns the value in a new array. A scan copies each value into
 * one reused array. The length of each value is checked, and in the warm-up its bytes too.
 */
final class ReadWorkloads {

  private static final int SCAN_PAIRS = 100;

  private static final int MEMORY_THREADS = 8;

  /**
   * The warm-up reads one in this many pairs to fill the memory: a block holds eight pairs, and a
   * quarter of the blocks fit.
   */
  private static final int MEMORY_WARMUP_PART = 16;

  /** Longest warm-up. A slow device is then measured with less of the memory filled. */
  private static final int MEMORY_WARMUP_SECONDS_MAX = 60;

  private ReadWorkloads() {}

  /** Reads a store that is in memory, because a scan reads all of it first. */
  static Map<String, Double> get(Context context) throws InterruptedException {
    Settings settings = context.settings();
    Limit warmup = Limit.seconds(settings.warmupSeconds());
    Limit measured = Limit.seconds(settings.seconds());
    long seed = settings.seed();
    Pairs pairs = context.pairs();
    Zipfian zipfian = new Zipfian(pairs.count());
    Map<String, Double> figures = new LinkedHashMap<>();
    try (Engine engine = context.open(context.base(), Durability.PROCESS)) {
      readEverything(engine, pairs);
      Supplier<Operation> present = () -> getPresent(engine, pairs, pairs::uniform, false);
      Supplier<Operation> zipf = () -> getPresent(engine, pairs, zipfian::number, false);
      Supplier<Operation> absent = () -> getAbsent(engine, pairs);
      Supplier<Operation> scan = () -> scan(engine, pairs);
      Drive.run(2, seed, warmup, false, () -> getPresent(engine, pairs, pairs::uniform, true));
      for (Supplier<Operation> each : List.of(absent, zipf, scan, present)) {
        Drive.run(1, seed, warmup, false, each);
      }
      Result single = Drive.run(1, seed, measured, false, present);
      figures.put("get_present_1t", single.perSecond());
      figures.put(
          "get_allocated_beyond_value",
          (double) (single.allocated() - single.bytes()) / single.operations());
      figures.put("get_present_2t", Drive.run(2, seed, measured, false, present).perSecond());
      figures.put("get_zipfian", Drive.run(1, seed, measured, false, zipf).perSecond());
      figures.put("get_absent", Drive.run(1, seed, measured, false, absent).perSecond());
      figures.put("scan_100", Drive.run(1, seed, measured, false, scan).perSecond());
    }
    return figures;
  }

  /**
   * GETs in a process whose heap, native memory and page cache together are limited to a quarter of
   * the size of the data. The pages of the files are dropped first, so that they count for this
   * process.
   */
  static Map<String, Double> memory(Context context) throws IOException, InterruptedException {
    for (Path file : Stores.regularFiles(context.base())) {
      Stores.dropFromPageCache(file);
    }
    try (Engine engine = context.open(context.base(), Durability.PROCESS)) {
      return memory(context, engine);
    }
  }

  /**
   * No interval repeats the keys of an earlier one, and the warm-up lasts until the memory is full.
   * Otherwise an engine that was slower in the warm-up would find more of the measured keys in
   * memory.
   */
  static Map<String, Double> memory(Context context, Engine engine) throws InterruptedException {
    Settings settings = context.settings();
    Pairs pairs = context.pairs();
    Supplier<Operation> verified = () -> getPresent(engine, pairs, pairs::uniform, true);
    Supplier<Operation> present = () -> getPresent(engine, pairs, pairs::uniform, false);
    long seed = settings.seed();
    long missing = pairs.count() / MEMORY_WARMUP_PART;
    for (int spent = 0;
        missing > 0 && spent < MEMORY_WARMUP_SECONDS_MAX;
        spent += settings.warmupSeconds()) {
      Limit limit = Limit.seconds(settings.warmupSeconds());
      missing -= Drive.run(MEMORY_THREADS, seed, limit, false, verified).operations();
      seed += MEMORY_THREADS;
    }
    if (missing > 0) {
      System.err.printf("the memory is not full: the warm-up lacked %,d GETs%n", missing);
    }
    Limit limit = Limit.seconds(settings.seconds());
    Map<String, Double> figures = new LinkedHashMap<>();
    figures.put("get_memory_1t", Drive.run(1, seed, limit, false, present).perSecond());
    figures.put(
        "get_memory_8t", Drive.run(MEMORY_THREADS, seed + 1, limit, false, present).perSecond());
    return figures;
  }

  private static void readEverything(Engine engine, Pairs pairs) {
    int seen = 0;
    try (Scan scan = engine.scan(new byte[] {0}, null)) {
      while (scan.next()) {
        seen++;
      }
    }
    if (seen != pairs.count()) {
      throw new IllegalStateException(
          "the store has " + seen + " pairs instead of " + pairs.count() + ": use --reload");
    }
  }

  /** GETs the pair that {@code number} chooses. */
  static Operation getPresent(
      Engine engine, Pairs pairs, LongToIntFunction number, boolean verified) {
    byte[] key = new byte[Pairs.KEY_BYTES];
    return bits -> {
      int i = number.applyAsInt(bits);
      Pairs.key(key, i);
      byte[] value = engine.get(key);
      if (value == null
          || value.length != pairs.valueLength(i, 0)
          || (verified && !pairs.isValue(value, i, 0))) {
        throw new IllegalStateException("wrong value of " + Pairs.keyText(i));
      }
      return value.length;
    };
  }

  private static Operation getAbsent(Engine engine, Pairs pairs) {
    byte[] key = new byte[Pairs.KEY_BYTES + 1];
    return bits -> {
      Pairs.absentKey(key, pairs.uniform(bits));
      if (engine.get(key) != null) {
        throw new IllegalStateException("found a key that was never put");
      }
      return 0;
    };
  }

  /** Scans pairs in key order, starting at a random one. */
  private static Operation scan(Engine engine, Pairs pairs) {
    byte[] key = new byte[Pairs.KEY_BYTES];
    byte[] value = new byte[pairs.valueBytesMax()];
    int length = Math.min(SCAN_PAIRS, pairs.count());
    return bits -> {
      int first = Math.min(pairs.uniform(bits), pairs.count() - length);
      Pairs.key(key, first);
      int bytes = 0;
      try (Scan scan = engine.scan(key, null)) {
        for (int i = first; i < first + length; i++) {
          if (!scan.next() || scan.value().byteSize() != pairs.valueLength(i, 0)) {
            throw new IllegalStateException("a scan lacks " + Pairs.keyText(i));
          }
          MemorySegment found = scan.value();
          int size = (int) found.byteSize();
          MemorySegment.copy(found, ValueLayout.JAVA_BYTE, 0, value, 0, size);
          bytes += (int) scan.key().byteSize() + size;
        }
      }
      return bytes;
    };
  }
}
