package lsmlab.bench.micro;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import lsmlab.bench.Pairs;
import lsmlab.bench.workload.Stores;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmEngine;
import lsmlab.storage.LsmOptions;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Flushes memtables of random pairs, then merges them into one run: eight tables of some 64 MB, of whose pairs a fifth is
 * overwritten by newer ones. {@code flushMegabytesPerCpuSecond} and {@code mergeMegabytesPerCpuSecond} are bytes of the tables
 * written, or read to be merged, by the CPU time of the thread that did it, in the kernel too.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Warmup(iterations = 4)
@Measurement(iterations = 6)
@Fork(
    value = 1,
    jvmArgsAppend = {
      "-Xmx1g",
      "--enable-native-access=ALL-UNNAMED",
      "--sun-misc-unsafe-memory-access=allow"
    })
public class MergeBenchmark {

  private static final int PAIRS = 2_000_000;
  private static final int VALUE_BYTES = 500;
  private static final int TABLES = 8;
  private static final int PAIRS_PER_TABLE = 120_000;

  private final Pairs pairs = new Pairs(PAIRS, VALUE_BYTES, 1);
  private Path directory;
  private Engine store;
  private long flushNanos;
  private long seed;

  /** What {@link #merge} took. */
  @State(Scope.Thread)
  @AuxCounters(AuxCounters.Type.EVENTS)
  public static class Costs {
    public double flushMegabytesPerCpuSecond;
    public double mergeMegabytesPerCpuSecond;
  }

  /** Fills tables that wait to be merged. */
  @Setup(Level.Invocation)
  public void fill() throws IOException {
    directory = Files.createTempDirectory("lsmlab-merge");
    store =
        LsmEngine.open(
            LsmOptions.builder(directory).compaction(false).flushThresholdBytes(1 << 30).build());
    byte[] key = new byte[Pairs.KEY_BYTES];
    for (int table = 0; table < TABLES; table++) {
      for (int i = 0; i < PAIRS_PER_TABLE; i++) {
        long bits = Pairs.mix(++seed);
        int number = (int) Math.unsignedMultiplyHigh(bits, PAIRS);
        int version = (int) (bits & 0xFFFF);
        Pairs.key(key, number);
        store.put(
            key,
            0,
            key.length,
            pairs.pool(),
            pairs.valueOffset(number, version),
            pairs.valueLength(number, version));
      }
      store.flush();
    }
    flushNanos = cpuNanos("lsmlab-flush-0");
  }

  @TearDown(Level.Invocation)
  public void empty() throws IOException {
    store.close();
    Stores.delete(directory);
  }

  @Benchmark
  public void merge(Costs costs) {
    long bytes = store.stats().tableBytes();
    long before = cpuNanos("lsmlab-compact");
    store.compact();
    long mergeNanos = cpuNanos("lsmlab-compact") - before;
    costs.flushMegabytesPerCpuSecond = bytes * 1e3 / flushNanos;
    costs.mergeMegabytesPerCpuSecond = bytes * 1e3 / mergeNanos;
  }

  /** CPU time of the thread of that name. */
  private static long cpuNanos(String name) {
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    for (ThreadInfo thread : threads.getThreadInfo(threads.getAllThreadIds())) {
      if (thread != null && thread.getThreadName().equals(name)) {
        return threads.getThreadCpuTime(thread.getThreadId());
      }
    }
    throw new IllegalStateException("the engine has no thread " + name);
  }
}
