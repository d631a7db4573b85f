package lsmlab.bench.server;

import java.nio.file.Path;
import java.util.List;

/**
 * What holds for all servers of a run.
 *
 * @param pairs in the dataset
 * @param valueBytes mean bytes of a value
 * @param seconds length of one measured interval
 * @param warmupSeconds length of one warm-up
 * @param connections of the saturating load
 * @param serviceCpu the CPU that servers run on
 * @param loadCpu the CPU that the load generator runs on
 * @param jvmArguments of every server
 * @param service directory of lsmlab-server.jar
 * @param loadgen directory of the load generator
 * @param stores directory of the dataset and of the servers' stores
 */
public record ServerSettings(
    int pairs,
    int valueBytes,
    int seconds,
    int warmupSeconds,
    int connections,
    int serviceCpu,
    int loadCpu,
    List<String> jvmArguments,
    Path service,
    Path loadgen,
    Path stores) {

  /** Threads of every variant that has some, and of the peer's pool. */
  static final int WORKERS = 8;

  /** Requests that may wait, save in an overload. */
  static final int QUEUE_CAPACITY = 1024;

  /**
   * Size of a memtable. Small, so that each interval holds the cost of several flushes instead of that of none or one.
   * Compaction is off: bench-storage measures it.
   */
  static final int FLUSH_THRESHOLD_BYTES = 16 << 20;

  Path serviceJar() {
    return service.resolve("lsmlab-server.jar");
  }

  Path dataset() {
    return stores.resolve("dataset-" + pairs + "x" + valueBytes);
  }
}
