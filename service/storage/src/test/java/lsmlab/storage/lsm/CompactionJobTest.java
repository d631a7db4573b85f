package lsmlab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.NavigableMap;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import lsmlab.storage.Compression;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.ValueSink;
import lsmlab.storage.cursor.Cursor;
import lsmlab.storage.cursor.MergingCursor;
import lsmlab.storage.file.SimulatedDirectory;
import lsmlab.storage.file.SimulatedDirectory.Operation;
import lsmlab.storage.manifest.Edit;
import lsmlab.storage.manifest.Manifest;
import lsmlab.storage.manifest.TableEntry;
import lsmlab.storage.memtable.ChunkPool;
import lsmlab.storage.memtable.Memtable;
import lsmlab.storage.stats.LevelTraffic;
import lsmlab.storage.stats.LookupCounts;
import lsmlab.storage.table.Lookup;
import lsmlab.storage.table.Table;
import lsmlab.storage.table.TableFormat;
import lsmlab.storage.table.TableLayout;
import lsmlab.storage.table.TableWorkspace;
import lsmlab.storage.table.TableWriter;
import lsmlab.storage.version.TableSet;
import lsmlab.storage.version.TableSet.Placed;
import lsmlab.storage.version.Version;
import lsmlab.storage.version.VersionSet;
import org.junit.jupiter.api.Test;

/**
 * Tests which merges are picked and what they produce, without the threads of an engine. Random
 * tables are added to level 0, and merges run. Some are ended by an error at a random file
 * operation, and followed by others. After each published piece, lookups in the tables must match a
 * sorted map. Small sizes make sure that all levels are used. The number of seeds is a tenth of the
 * system property {@code lsmlab.models}, at least 20.
 */
class CompactionJobTest {

  private static final int SEEDS = Math.max(20, Integer.getInteger("lsmlab.models", 0) / 10);
  private static final int KEYS = 900;

  private static final LsmOptions OPTIONS =
      LsmOptions.builder(Path.of("unused"))
          .flushThresholdBytes(30)
          .blockBytes(256)
          .tableBytes(1_024)
          .bloomBitsPerKey(4)
          .build();

  /**
   * Operations that never fail here: a failed sync is final for an engine, and after a failed
   * deletion the file stays until the next start.
   */
  private static final Set<Operation> EXCEPTED =
      EnumSet.of(Operation.SYNC_FILE, Operation.SYNC_DIRECTORY, Operation.DELETE);

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** One store, as the compaction thread of an engine sees it. */
  private static final class Store implements AutoCloseable {
    final SplittableRandom random;
    private final TableWorkspace workspace = new TableWorkspace();
    final SimulatedDirectory directory = new SimulatedDirectory();
    final ChunkPool pool = new ChunkPool();
    final NavigableMap<String, String> model = new TreeMap<>();
    final Set<Integer> levelsMet = new HashSet<>();
    final CompactionPolicy policy;
    final VersionSet versions;
    final LevelTraffic traffic = new LevelTraffic(TableEntry.LEVEL_BOTTOM + 1);
    final Thread merger = Thread.currentThread();
    boolean errors = true;
    long order = 1;
    int publications;
    int pieces;
    int brokenOff;
    int tombstonesKept;

    Store(long seed) throws IOException {
      random = new SplittableRandom(seed);
      policy = seed % 2 == 0 ? new LeveledPolicy(OPTIONS) : new TieredPolicy(OPTIONS);
      Manifest manifest = Manifest.create(directory, new Edit(1, 1, List.of(), List.of()), 5_000);
      Memtable active = new Memtable(pool, 1);
      Version first = new Version(active, List.of(), new TableSet(List.of()));
      active.release();
      versions = new VersionSet(directory, manifest, 2, first);
    }

    TableSet tables() {
      return versions.current().tables();
    }

    /** Adds a table of random writes, some of which are deletions. */
    void flush() throws IOException {
      NavigableMap<String, String> writes = new TreeMap<>();
      int from = random.nextInt(KEYS);
      int span = random.nextInt(4) == 0 ? KEYS : 60;
      for (int i = random.nextInt(1, 25); i > 0; i--) {
        String key = "key%04d".formatted((from + random.nextInt(span)) % KEYS);
        writes.put(key, random.nextInt(4) == 0 ? null : "v" + order + "-" + random.nextInt(1000));
      }
      long number = versions.newFileNumber();
      Compression compression = Compression.values()[random.nextInt(2)];
      TableLayout layout = new TableLayout(256, 4, compression);
      try (TableWriter writer = new TableWriter(directory, number, ++order, layout)) {
        writes.forEach((key, value) -> add(writer, key, value));
        writer.finish();
      }
      directory.sync();
      Table table = Table.open(directory, number);
      versions.publishFlush(
          List.of(), List.of(new Placed(new TableEntry(number, 0, order, table.bytes()), table)));
      writes.forEach(
          (key, value) -> {
            if (value == null) {
              model.remove(key);
            } else {
              model.put(key, value);
            }
          });
    }

    private static void add(TableWriter writer, String key, String value) {
      MemorySegment keySegment = MemorySegment.ofArray(bytes(key));
      try {
        if (value == null) {
          writer.addTombstone(keySegment, 0, key.length());
        } else {
          MemorySegment valueSegment = MemorySegment.ofArray(bytes(value));
          writer.add(keySegment, 0, key.length(), valueSegment, 0, value.length());
        }
      } catch (IOException e) {
        throw new AssertionError(e);
      }
    }

    /** Merges until no merge is due, or until an error ends one. */
    void merge(CompactionPolicy.Task first) throws IOException {
      for (CompactionPolicy.Task task = first; task != null; ) {
        checkTask(task);
        int failAt = errors && random.nextInt(3) == 0 ? random.nextInt(1, 60) : Integer.MAX_VALUE;
        int[] operations = new int[1];
        directory.setFault(
            (operation, name) -> {
              if (Thread.currentThread() == merger
                  && !EXCEPTED.contains(operation)
                  && ++operations[0] == failAt) {
                throw new IOException("injected");
              }
            });
        int before = publications;
        try {
          new CompactionJob(
                  directory,
                  OPTIONS,
                  versions,
                  task,
                  workspace,
                  () -> false,
                  traffic,
                  this::published)
              .run();
        } catch (IOException e) {
          assertEquals("injected", e.getMessage());
          brokenOff += publications > before ? 1 : 0;
          checkAll();
          return;
        } finally {
          directory.setFault((operation, name) -> {});
          pieces = Math.max(pieces, publications - before);
        }
        task = policy.pick(tables(), random.nextBoolean(), Set.of());
      }
    }

    /** A tombstone may be dropped only if no older table outside the merge can hold its key. */
    private void checkTask(CompactionPolicy.Task task) {
      Set<Table> inputs = TableSet.tableSet(task.inputs());
      List<Placed> deeper =
          tables().placed().stream()
              .filter(placed -> placed.entry().level() > task.level())
              .filter(placed -> !inputs.contains(placed.table()))
              .toList();
      boolean shadows =
          inputs.stream()
              .anyMatch(input -> deeper.stream().anyMatch(old -> overlap(input, old.table())));
      assertTrue(!task.dropTombstones() || !shadows, "tombstones dropped too early");
      tombstonesKept += shadows ? 1 : 0;
      for (Placed placed : tables().placed()) {
        if (placed.entry().level() > 0 && placed.entry().level() < task.level()) {
          boolean newer = inputs.stream().anyMatch(input -> overlap(input, placed.table()));
          boolean fromAbove =
              task.inputs().stream()
                  .anyMatch(input -> input.entry().level() < placed.entry().level());
          assertTrue(
              inputs.contains(placed.table()) || !newer || !fromAbove,
              "newer pairs would go below older ones");
        }
      }
    }

    private static boolean overlap(Table a, Table b) {
      return Arrays.compareUnsigned(a.minKey(), b.maxKey()) <= 0
          && Arrays.compareUnsigned(b.minKey(), a.maxKey()) <= 0;
    }

    private void published() {
      publications++;
      tables().placed().forEach(placed -> levelsMet.add(placed.entry().level()));
      for (int i = 0; i < 30; i++) {
        check("key%04d".formatted(random.nextInt(KEYS)));
      }
      if (publications % 10 == 0) {
        checkAll();
      }
    }

    private void check(String key) {
      String[] found = new String[1];
      byte[] keyBytes = bytes(key);
      int answer =
          tables()
              .get(
                  keyBytes,
                  0,
                  keyBytes.length,
                  (source, offset, length) ->
                      found[0] =
                          new String(
                              ValueSink.copy(source, offset, length), StandardCharsets.UTF_8),
                  new LookupCounts());
      assertEquals(model.get(key), found[0], key);
      assertEquals(found[0] != null, answer == Lookup.FOUND, key);
    }

    void checkAll() {
      for (int i = 0; i < KEYS; i++) {
        check("key%04d".formatted(i));
      }
      NavigableMap<String, String> scanned = new TreeMap<>();
      List<Cursor> cursors = new ArrayList<>();
      tables().addCursors(cursors);
      Cursor cursor = new MergingCursor(cursors);
      for (boolean more = cursor.seek(null); more; more = cursor.next()) {
        if (!cursor.isTombstone()) {
          scanned.put(
              text(cursor.keySegment(), cursor.keyOffset(), cursor.keyLength()),
              text(cursor.valueSegment(), cursor.valueOffset(), cursor.valueLength()));
        }
      }
      assertEquals(model, scanned);
    }

    private static String text(MemorySegment segment, long offset, int length) {
      return new String(ValueSink.copy(segment, offset, length), StandardCharsets.UTF_8);
    }

    @Override
    public void close() throws IOException {
      versions.close();
      pool.close();
      assertEquals(List.of(), directory.inUse());
    }
  }

  @Test
  void interruptedCompactionsKeepEveryResult() throws IOException {
    Set<Integer> levelsMet = new HashSet<>();
    int pieces = 0;
    int brokenOff = 0;
    int tombstonesKept = 0;
    for (int seed = 0; seed < SEEDS; seed++) {
      try (Store store = new Store(seed)) {
        for (int round = 0; round < 250; round++) {
          store.flush();
          boolean resting = store.random.nextInt(4) == 0;
          store.merge(store.policy.pick(store.tables(), resting, Set.of()));
        }
        store.checkAll();
        levelsMet.addAll(store.levelsMet);
        pieces = Math.max(pieces, store.pieces);
        brokenOff += store.brokenOff;
        tombstonesKept += store.tombstonesKept;

        store.errors = false;
        store.flush();
        store.merge(CompactionPolicy.all(store.tables()));
        store.checkAll();
        assertEquals(0, store.tables().newestFirst().size());
        for (Placed placed : store.tables().placed()) {
          assertEquals(TableEntry.LEVEL_BOTTOM, placed.entry().level());
          assertEquals(0, placed.table().tombstones());
        }
        checkOnDisk(store);
      } catch (RuntimeException | AssertionError e) {
        throw new AssertionError("seed " + seed + ": " + e, e);
      }
    }
    assertTrue(levelsMet.containsAll(Set.of(0, 4, 5, 6)), "levels met: " + levelsMet);
    assertTrue(pieces >= 4, "the largest merge was published in " + pieces + " pieces");
    assertTrue(brokenOff >= SEEDS, "merges broken off after a piece: " + brokenOff);
    assertTrue(tombstonesKept >= SEEDS, "merges above older tables: " + tombstonesKept);
  }

  /** Checks that exactly the tables that the manifest names are there, and that each is sound. */
  private static void checkOnDisk(Store store) throws IOException {
    store.versions.awaitReclaimed();
    List<String> named =
        Manifest.read(store.directory).tables().stream()
            .map(entry -> TableFormat.fileName(entry.number()))
            .sorted()
            .toList();
    assertEquals(named, store.directory.names(".sst"));
    assertEquals(
        store.tables().bytes(),
        named.stream().mapToLong(name -> store.directory.content(name).length).sum());
    StoreVerifier.verify(store.directory.certain(), file -> {});
  }
}
