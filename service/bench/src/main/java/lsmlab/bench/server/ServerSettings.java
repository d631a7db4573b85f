package lsmlab.bench.server;

import java.nio.file.Path;
import java.util.List;

/**
 * Settings that all servers of a run share.
 *
 * @param pairs number of pairs in the dataset
 * @param valueBytes mean bytes of a value
 * @param seconds length of one measured interval
 * @param warmupSeconds length of one warm-up
 * @param connections number of connections of the saturating load
 * @param serviceCpu the CPU that servers run on
 * @param loadCpu the CPU that the load generator runs on
 * @param jvmArguments arguments of every server's JVM
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

  /** Number of worker threads, in every variant that has workers and in the 40-line server's pool. */
  static final int WORKERS = 8;

  /** Capacity of the request queue, except in {@link Overload}. */
  static final int QUEUE_CAPACITY = 1024;

  /**
   * Size of a memtable in bytes: small, so that each interval contains several flushes instead of one or none. Compaction is
   * off, because bench-storage measures it.
   */
  static final int FLUSH_THRESHOLD_BYTES = 16 << 20;

  Path serviceJar() {
    return service.resolve("lsmlab-server.jar");
  }

  Path dataset() {
    return stores.resolve("dataset-" + pairs + "x" + valueBytes);
  }
}
