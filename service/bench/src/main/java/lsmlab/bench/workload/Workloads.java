package lsmlab.bench.workload;

import java.util.LinkedHashMap;
import java.util.Map;

/** The workloads by name, in the order in which they run. Another one is one class and one line here. */
public final class Workloads {

  private static final Map<String, Workload> ALL = new LinkedHashMap<>();

  static {
    ALL.put("load", new LoadWorkload());
    ALL.put("get", new GetWorkload());
    ALL.put("memory", new MemoryWorkload());
    ALL.put("put", new PutWorkload());
    ALL.put("sync", new SyncWorkload());
    ALL.put("open", new OpenWorkload());
    ALL.put("fill-log", new FillLogWorkload());
    ALL.put("replay", new ReplayWorkload());
    ALL.put("overwrite", new OverwriteWorkload());
  }

  private Workloads() {}

  /** The workload of that name. */
  public static Workload named(String name) {
    Workload workload = ALL.get(name);
    if (workload == null) {
      throw new IllegalArgumentException("no workload '" + name + "'; there are " + ALL.keySet());
    }
    return workload;
  }
}
