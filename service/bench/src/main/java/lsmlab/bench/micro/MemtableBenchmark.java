package lsmlab.bench.micro;

import java.util.Arrays;
import java.util.Comparator;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.TimeUnit;
import lsmlab.bench.storage.Pairs;
import lsmlab.storage.memtable.ChunkPool;
import lsmlab.storage.memtable.Memtable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Compares the memtable's arena skip list with a baseline, the JDK's {@link ConcurrentSkipListMap}
 * with copied arrays. A fill puts pairs of 500 bytes in random order, up to the default size of a
 * memtable. A GET finds a random one of them.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5)
@Measurement(iterations = 10)
@Fork(value = 2, jvmArgsAppend = "-Xmx2g")
public class MemtableBenchmark {

  private static final int PAIRS = 120_000;
  private static final Comparator<byte[]> UNSIGNED = Arrays::compareUnsigned;

  /** A structure under test. */
  interface Structure extends AutoCloseable {
    void put(byte[] key, byte[] value, int valueOffset, int valueLength);

    int get(byte[] key);

    @Override
    void close();
  }

  @Param({"arena-skip-list", "concurrent-skip-list-map"})
  public String structure;

  private final Pairs pairs = new Pairs(PAIRS, 500, 1);
  private final byte[] key = new byte[Pairs.KEY_BYTES];
  private final ChunkPool pool = new ChunkPool();
  private Structure full;
  private int next;

  @Setup(Level.Trial)
  public void open() {
    full = filled();
  }

  @TearDown(Level.Trial)
  public void close() {
    full.close();
    pool.close();
  }

  /** Measures the time of one PUT within a fill. */
  @Benchmark
  @OperationsPerInvocation(PAIRS)
  public void fill() {
    filled().close();
  }

  @Benchmark
  public int get() {
    next = (next + 7_919) % PAIRS;
    Pairs.key(key, next);
    return full.get(key);
  }

  private Structure filled() {
    Structure structure = empty();
    for (int i = 0; i < PAIRS; i++) {
      int number = pairs.shuffled(i);
      Pairs.key(key, number);
      structure.put(key, pairs.pool(), pairs.valueOffset(number, 0), pairs.valueLength(number, 0));
    }
    return structure;
  }

  private Structure empty() {
    return switch (structure) {
      case "arena-skip-list" -> new ArenaSkipList(new Memtable(pool, 1));
      case "concurrent-skip-list-map" -> new JdkSkipList(new ConcurrentSkipListMap<>(UNSIGNED));
      default -> throw new IllegalArgumentException("no structure '" + structure + "'");
    };
  }

  /** The engine's memtable. */
  private static final class ArenaSkipList implements Structure {
    private final Memtable memtable;
    private long sequence;
    private int found;

    ArenaSkipList(Memtable memtable) {
      this.memtable = memtable;
    }

    @Override
    public void put(byte[] key, byte[] value, int valueOffset, int valueLength) {
      memtable.add(++sequence, key, 0, key.length, value, valueOffset, valueLength);
    }

    @Override
    public int get(byte[] key) {
      memtable.get(key, 0, key.length, (source, offset, length) -> found = length);
      return found;
    }

    @Override
    public void close() {
      memtable.release();
    }
  }

  /** The JDK's skip list. */
  private record JdkSkipList(ConcurrentSkipListMap<byte[], byte[]> map) implements Structure {

    @Override
    public void put(byte[] key, byte[] value, int valueOffset, int valueLength) {
      map.put(key.clone(), Arrays.copyOfRange(value, valueOffset, valueOffset + valueLength));
    }

    @Override
    public int get(byte[] key) {
      return map.get(key).length;
    }

    @Override
    public void close() {
      map.clear();
    }
  }
}
