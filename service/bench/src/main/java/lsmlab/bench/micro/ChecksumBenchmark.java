package lsmlab.bench.micro;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;
import java.util.zip.Checksum;
import lsmlab.storage.file.Bytes;
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

/**
 * Measures the checksum of a WAL record (512 bytes) and of a table's block (4 KiB), in the heap and
 * in native memory.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(2)
public class ChecksumBenchmark {

  @Param({"512", "4096"})
  public int bytes;

  private final Arena arena = Arena.ofShared();
  private byte[] heap;
  private MemorySegment off;

  @Setup(Level.Trial)
  public void fill() {
    heap = new byte[bytes];
    new Random(1).nextBytes(heap);
    off = arena.allocate(bytes);
    off.copyFrom(MemorySegment.ofArray(heap));
  }

  @TearDown(Level.Trial)
  public void free() {
    arena.close();
  }

  @Benchmark
  public long crc32cOfArray() {
    return of(new CRC32C());
  }

  @Benchmark
  public long crc32OfArray() {
    return of(new CRC32());
  }

  private long of(Checksum checksum) {
    checksum.update(heap, 0, heap.length);
    return checksum.getValue();
  }

  /** Computes the checksum of a slice of mapped memory, as for a block of a table. */
  @Benchmark
  public int crc32cOfSegment() {
    return Bytes.crc32c(off, 0, bytes);
  }
}
