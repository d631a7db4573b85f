package lsmlab.bench.storage;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;

/** The workloads by name. To add one, write one method and one line here. */
final class Workloads {

  /** Runs on one engine in one JVM and returns its figures by metric, in the metric's unit. */
  @FunctionalInterface
  interface Workload {
    Map<String, Double> run(Context context) throws IOException, InterruptedException;
  }

  private static final Map<String, Workload> ALL = new LinkedHashMap<>();

  static {
    ALL.put("load", StoreWorkloads::load);
    ALL.put("get", ReadWorkloads::get);
    ALL.put("memory", ReadWorkloads::memory);
    ALL.put("put", WriteWorkloads::put);
    ALL.put("sync", WriteWorkloads::sync);
    ALL.put("mixed", WriteWorkloads::mixed);
    ALL.put("open", StoreWorkloads::open);
    ALL.put("fill-log", StoreWorkloads::fillLog);
    ALL.put("replay", StoreWorkloads::replay);
    ALL.put("overwrite", WriteWorkloads::overwrite);
  }

  private Workloads() {}

  static Workload named(String name) {
    Workload workload = ALL.get(name);
    if (workload == null) {
      throw new IllegalArgumentException("no workload '" + name + "'; there are " + ALL.keySet());
    }
    return workload;
  }
}
