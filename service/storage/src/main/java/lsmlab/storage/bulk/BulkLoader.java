package lsmlab.storage.bulk;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import lsmlab.storage.file.StoreDirectory;
import lsmlab.storage.manifest.Edit;
import lsmlab.storage.manifest.Manifest;
import lsmlab.storage.manifest.TableEntry;
import lsmlab.storage.table.TableFormat;
import lsmlab.storage.table.TableLayout;
import lsmlab.storage.table.TableWriter;
import lsmlab.storage.textbook.Entry;
import lsmlab.storage.textbook.TableFile;

/**
 * Writes a dataset straight into the tables of a closed store of the engine {@code lsm} or {@code
 * textbook}. Either all tables are in the last level and do not overlap, or all are in level 0;
 * {@code textbook} has no levels. The same arguments give the same bytes. The manifest is written
 * last, so an unfinished load leaves no store of {@code lsm} behind.
 */
public final class BulkLoader {

  private static final int PAIRS_PER_REPORT = 4096;
  private static final long DIGEST_BYTES = 1 << 20;

  /**
   * Describes a written dataset.
   *
   * @param bytes size of all tables
   * @param contentHash SHA-256, in hex, over the SHA-256 of each table in order
   */
  public record Result(long pairs, int tables, long bytes, String contentHash) {}

  private final StoreDirectory directory;
  private final PairGenerator generator;
  private final long pairs;
  private final int tables;
  private final TableLayout layout;
  private final boolean overlapping;
  private final boolean textbook;
  private final AtomicLong written = new AtomicLong();

  /**
   * @param directory directory of the new store; empty except for its lock file
   * @param pairs number of pairs, 1 to 10⁹
   * @param tables number of tables over which the pairs are spread evenly; at most {@code pairs}
   * @param overlapping whether the tables are in level 0, each with every {@code tables}-th key of
   *     the whole range, like flushed tables that are never compacted; otherwise they are in the
   *     last level, each with its own key range
   * @param textbook whether to write tables of the engine {@code textbook}; of the layout, only the
   *     bloom bits apply to them
   */
  public BulkLoader(
      StoreDirectory directory,
      PairGenerator generator,
      long pairs,
      int tables,
      TableLayout layout,
      boolean overlapping,
      boolean textbook) {
    if (pairs < 1 || pairs > PairGenerator.PAIRS_MAX) {
      throw new IllegalArgumentException(
          "pairs are 1 to " + PairGenerator.PAIRS_MAX + ", not " + pairs);
    }
    if (tables < 1 || tables > Math.min(pairs, 100_000)) {
      throw new IllegalArgumentException(
          "tables are 1 to the number of pairs and at most 100000, not " + tables);
    }
    this.directory = directory;
    this.generator = generator;
    this.pairs = pairs;
    this.tables = tables;
    this.layout = layout;
    this.overlapping = overlapping;
    this.textbook = textbook;
  }

  /** Returns the number of pairs written so far. Thread-safe. */
  public long written() {
    return written.get();
  }

  /**
   * Writes the store with this many threads, each of which writes one table at a time.
   *
   * @throws IOException if it cannot be written
   */
  public Result load(int threads) throws IOException {
    List<TableResult> results = new ArrayList<>();
    List<Future<TableResult>> futures = new ArrayList<>();
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    try {
      for (int i = 0; i < tables; i++) {
        int table = i;
        futures.add(pool.submit(() -> writeTable(table)));
      }
      for (Future<TableResult> future : futures) {
        results.add(get(future));
      }
    } finally {
      // After an error: the caller deletes the files, so no thread may still create one.
      futures.forEach(future -> future.cancel(false));
      pool.close();
    }
    directory.sync();

    MessageDigest digest = sha256();
    List<TableEntry> entries = new ArrayList<>();
    long bytes = 0;
    for (TableResult result : results) {
      digest.update(result.sha256());
      entries.add(
          overlapping
              ? new TableEntry(result.number(), 0, result.number(), result.bytes())
              : new TableEntry(result.number(), TableEntry.LEVEL_BOTTOM, 0, result.bytes()));
      bytes += result.bytes();
    }
    if (!textbook) {
      Edit content = new Edit(tables + 1L, 1, List.of(), entries);
      Manifest.create(directory, content, Long.MAX_VALUE).close();
    }
    return new Result(pairs, tables, bytes, HexFormat.of().formatHex(digest.digest()));
  }

  private record TableResult(long number, long bytes, byte[] sha256) {}

  private TableResult writeTable(int table) throws IOException {
    long from = overlapping ? table : pairs * table / tables;
    long to = overlapping ? pairs : pairs * (table + 1) / tables;
    int step = overlapping ? tables : 1;
    long number = table + 1L;
    if (textbook) {
      Iterable<Entry> entries = () -> entries(from, to, step);
      String name = TableFile.write(directory, number, entries, layout.bloomBitsPerKey());
      written.addAndGet(Math.ceilDiv(to - from, step));
      return digest(number, name);
    }
    byte[] key = new byte[PairGenerator.KEY_BYTES];
    byte[] value = new byte[generator.valueBytesMax()];
    MemorySegment keySegment = MemorySegment.ofArray(key);
    MemorySegment valueSegment = MemorySegment.ofArray(value);
    try (TableWriter writer = new TableWriter(directory, number, 0, layout)) {
      long unreported = 0;
      for (long i = from; i < to; i += step) {
        PairGenerator.key(i, key);
        int length = generator.value(i, value);
        writer.add(keySegment, 0, key.length, valueSegment, 0, length);
        if (++unreported == PAIRS_PER_REPORT || i + step >= to) {
          written.addAndGet(unreported);
          unreported = 0;
        }
      }
      writer.finish();
    }
    return digest(number, TableFormat.fileName(number));
  }

  private Iterator<Entry> entries(long from, long to, int step) {
    return new Iterator<>() {
      private final byte[] value = new byte[generator.valueBytesMax()];
      private long next = from;

      @Override
      public boolean hasNext() {
        return next < to;
      }

      @Override
      public Entry next() {
        byte[] key = new byte[PairGenerator.KEY_BYTES];
        PairGenerator.key(next, key);
        int length = generator.value(next, value);
        next += step;
        return new Entry(
            MemorySegment.ofArray(key), MemorySegment.ofArray(Arrays.copyOf(value, length)));
      }
    };
  }

  /** Reads back the table, which is still in the page cache, and hashes it. */
  private TableResult digest(long number, String name) throws IOException {
    MessageDigest digest = sha256();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment bytes = directory.map(name, arena);
      for (long at = 0; at < bytes.byteSize(); at += DIGEST_BYTES) {
        long piece = Math.min(DIGEST_BYTES, bytes.byteSize() - at);
        digest.update(bytes.asSlice(at, piece).asByteBuffer());
      }
      return new TableResult(number, bytes.byteSize(), digest.digest());
    }
  }

  private static TableResult get(Future<TableResult> future) throws IOException {
    try {
      return future.get();
    } catch (ExecutionException e) {
      if (e.getCause() instanceof IOException io) {
        throw io;
      }
      throw new IllegalStateException("writing a table failed", e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while writing tables", e);
    }
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
  }
}
