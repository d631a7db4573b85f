package lsmlab.bench.workload;

import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;

/**
 * Random GETs of present keys by a process that is allowed a quarter of the data's size for everything: its heap, its
 * native memory and the page cache of what it reads. The files' pages are dropped first, so that they count for this
 * process when it reads them.
 */
final class MemoryWorkload implements Workload {

  private static final int THREADS = 8;

  @Override
  public Outcome run(Context context) throws IOException, InterruptedException {
    Path store = context.settings().base(context.engine());
    for (Path file : Stores.regularFiles(store)) {
      PageCache.drop(file);
    }
    int seconds = context.settings().seconds();
    Map<String, Double> figures = new LinkedHashMap<>();
    try (Engine engine = context.open(store, Durability.PROCESS)) {
      GetWorkload.reads(
          context, engine, true, true, THREADS, context.settings().warmupSeconds() + seconds);
      figures.put(
          "get_memory_1t",
          GetWorkload.perSecond(GetWorkload.reads(context, engine, true, false, 1, seconds)));
      figures.put(
          "get_memory_8t",
          GetWorkload.perSecond(GetWorkload.reads(context, engine, true, false, THREADS, seconds)));
    }
    return Outcome.of(figures);
  }
}
