package lsmlab.bench.micro;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import lsmlab.bench.Pairs;
import lsmlab.bench.workload.Stores;
import lsmlab.peers.PeerEngines;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.infra.Blackhole;

/**
 * One operation on a small store, for {@code -prof gc}: {@code gc.alloc.rate.norm} is the heap allocated by one
 * operation. A value has 500 bytes, an array of it 520.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(
    value = 2,
    jvmArgsAppend = {"--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"})
public class AllocationBenchmark {

  private static final int PAIRS = 20_000;
  private static final int VALUE_BYTES = 500;

  @Param({"lsm", "rocksdb", "mvstore"})
  public String engine;

  private final byte[] key = new byte[Pairs.KEY_BYTES];
  private final byte[] absentKey = new byte[Pairs.KEY_BYTES + 1];
  private final byte[] value = new byte[VALUE_BYTES];
  private Path directory;
  private Engine store;
  private int next;

  /** Fills a store and flushes it, so that a GET reads a table. */
  @Setup(Level.Trial)
  public void open() throws IOException {
    directory = Files.createTempDirectory("lsmlab-allocation");
    LsmOptions options = LsmOptions.of(directory);
    store = PeerEngines.find(engine).orElseThrow().factory().open(options);
    for (int i = 0; i < PAIRS; i++) {
      Pairs.key(key, i);
      store.put(key, value);
    }
    store.flush();
    store.quiesce();
  }

  @TearDown(Level.Trial)
  public void close() throws IOException {
    store.close();
    Stores.delete(directory);
  }

  private int next() {
    next = (next + 7_919) % PAIRS;
    return next;
  }

  @Benchmark
  public byte[] getPresent() {
    Pairs.key(key, next());
    return store.get(key);
  }

  @Benchmark
  public byte[] getAbsent() {
    Pairs.absentKey(absentKey, next());
    return store.get(absentKey);
  }

  /** A GET that shows the value where it lies, as the server's does. */
  @Benchmark
  public boolean getIntoSink(Blackhole sink) {
    Pairs.key(key, next());
    return store.get(
        key, 0, key.length, (source, offset, length) -> sink.consume(source.byteSize() + offset));
  }

  @Benchmark
  public void put() {
    Pairs.key(key, next());
    store.put(key, value);
  }
}
