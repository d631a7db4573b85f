package lsmlab.bench.workload;

import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;

/**
 * Random GETs of present keys by a process that is allowed a quarter of the data's size for everything: its heap, its
 * native memory and the page cache of what it reads. The files' pages are dropped first, so that they count for this
 * process when it reads them.
 *
 * <p>No interval repeats the keys of one before it, and the warm-up lasts until the memory is full. Otherwise the engine
 * that got less far in the warm-up would find more of what it is then asked for in memory.
 */
final class MemoryWorkload implements Workload {

  private static final int THREADS = 8;

  /** GETs that fill the memory, as part of the pairs: eight and more pairs are in a block of which a quarter has room. */
  private static final int WARM_UP_PART = 16;

  /** A device that is slower than this permits is measured with less of the memory filled. */
  private static final int WARM_UP_SECONDS_MAX = 60;

  private long seed;

  @Override
  public Outcome run(Context context) throws IOException, InterruptedException {
    Path store = context.settings().base(context.engine());
    for (Path file : Stores.regularFiles(store)) {
      PageCache.drop(file);
    }
    try (Engine engine = context.open(store, Durability.PROCESS)) {
      return Outcome.of(measure(context, engine));
    }
  }

  Map<String, Double> measure(Context context, Engine engine) throws InterruptedException {
    seed = context.settings().seed();
    fillMemory(context, engine);
    int seconds = context.settings().seconds();
    Map<String, Double> figures = new LinkedHashMap<>();
    figures.put("get_memory_1t", GetWorkload.perSecond(reads(context, engine, false, 1, seconds)));
    figures.put(
        "get_memory_8t", GetWorkload.perSecond(reads(context, engine, false, THREADS, seconds)));
    return figures;
  }

  private void fillMemory(Context context, Engine engine) throws InterruptedException {
    int seconds = context.settings().warmupSeconds();
    long missing = context.pairs().count() / WARM_UP_PART;
    for (int spent = 0; missing > 0 && spent < WARM_UP_SECONDS_MAX; spent += seconds) {
      for (GetWorkload.Share share : reads(context, engine, true, THREADS, seconds)) {
        missing -= share.operations();
      }
    }
    if (missing > 0) {
      System.err.printf(
          "the memory is not full after %d s: %,d GETs of the warm-up are missing%n",
          WARM_UP_SECONDS_MAX, missing);
    }
  }

  /** Reads keys in an order that was not used before. */
  private List<GetWorkload.Share> reads(
      Context context, Engine engine, boolean verify, int threads, int seconds)
      throws InterruptedException {
    List<GetWorkload.Share> shares =
        GetWorkload.reads(context, engine, true, verify, threads, seconds, seed);
    seed += threads;
    return shares;
  }
}
