package lsmlab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import lsmlab.storage.CompactionStrategy;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.ReadOnlyException;
import lsmlab.storage.Scan;
import lsmlab.storage.file.SimulatedDirectory;
import lsmlab.storage.file.SimulatedDirectory.Operation;
import lsmlab.storage.manifest.Manifest;
import lsmlab.storage.manifest.TableEntry;
import lsmlab.storage.table.TableFormat;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Checks a merge of several levels that is published in pieces. Before each of its file operations,
 * there are reads, scans that continue meanwhile, and a restart after a kill or a loss of power at
 * that moment. It is also ended there by closing the store and by an error.
 */
class PiecewiseCompactionTest {

  private static final int KEYS = 300;
  private static final String MERGER = "lsmlab-compact";

  private static final LsmOptions OPTIONS =
      LsmOptions.builder(Path.of("unused"))
          .durability(Durability.POWER)
          .compaction(CompactionStrategy.OFF)
          .blockBytes(256)
          .tableBytes(1_024)
          .build();

  private final NavigableMap<String, String> model = new TreeMap<>();

  /**
   * Makes a store with many tables in the last level, and two tables of newer writes and deletions
   * above it.
   */
  private SimulatedDirectory sound;

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String key(int i) {
    return "key%04d".formatted(i);
  }

  @BeforeEach
  void makeStore() {
    sound = new SimulatedDirectory();
    try (Engine engine = LsmEngine.open(OPTIONS, sound)) {
      for (int i = 0; i < KEYS; i++) {
        put(engine, key(i), "first" + i + "-".repeat(i % 60));
      }
      engine.flush();
      engine.compact();
      for (int i = 0; i < KEYS; i++) {
        if (i % 3 == 0) {
          put(engine, key(i), "second" + i);
        } else if (i % 7 == 0) {
          delete(engine, key(i));
        }
      }
      engine.flush();
      for (int i = 0; i < KEYS; i++) {
        if (i % 14 == 0) {
          put(engine, key(i), "third" + i);
        } else if (i % 5 == 0) {
          delete(engine, key(i));
        }
      }
      engine.flush();
      assertTrue(engine.stats().tables() >= 10, "tables: " + engine.stats().tables());
    }
  }

  private void put(Engine engine, String key, String value) {
    engine.put(bytes(key), bytes(value));
    model.put(key, value);
  }

  private void delete(Engine engine, String key) {
    engine.delete(bytes(key));
    model.remove(key);
  }

  private static boolean isMerger() {
    return Thread.currentThread().getName().equals(MERGER);
  }

  private void check(Engine engine, String when) {
    assertEquals(model, History.contents(engine, ""), when);
    for (int i = 0; i < KEYS; i++) {
      byte[] value = engine.get(bytes(key(i)));
      String text = value == null ? null : new String(value, StandardCharsets.UTF_8);
      assertEquals(model.get(key(i)), text, when);
    }
  }

  private void checkAfterRestart(SimulatedDirectory left, String when) throws IOException {
    try (Engine engine = LsmEngine.open(OPTIONS, left)) {
      check(engine, when);
    }
    StoreVerifier.verify(left, file -> {});
  }

  /** Returns the file names of the tables that the manifest names. */
  private static List<String> named(SimulatedDirectory directory) throws IOException {
    return Manifest.read(directory).tables().stream()
        .map(entry -> TableFormat.fileName(entry.number()))
        .sorted()
        .toList();
  }

  /** A scan that advances pair by pair during the merge. */
  private final class SlowScan implements AutoCloseable {
    private final NavigableMap<String, String> found = new TreeMap<>();
    private final Scan scan;

    SlowScan(Engine engine) {
      scan = engine.scan(new byte[0], null);
    }

    boolean step() {
      if (!scan.next()) {
        return false;
      }
      found.put(
          new String(scan.key().toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8),
          new String(scan.value().toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8));
      return true;
    }

    void finish() {
      boolean more = true;
      while (more) {
        more = step();
      }
      assertEquals(model, found);
    }

    @Override
    public void close() {
      scan.close();
    }
  }

  @Test
  void everyMomentOfACompactionShowsTheSamePairsAndSurvivesACrash() throws IOException {
    SplittableRandom random = new SplittableRandom(1);
    List<SlowScan> scans = new ArrayList<>();
    AtomicReference<Throwable> failure = new AtomicReference<>();
    AtomicInteger moments = new AtomicInteger();
    AtomicInteger publications = new AtomicInteger();
    AtomicInteger deletions = new AtomicInteger();
    try (Engine engine = LsmEngine.open(OPTIONS, sound)) {
      final long bytesBefore = engine.stats().tableBytes();
      sound.setFault(
          (operation, name) -> {
            try {
              if (operation == Operation.DELETE && name.endsWith(".sst")) {
                deletions.incrementAndGet();
                assertFalse(sound.isMapped(name), name + " is deleted while someone reads it");
                assertFalse(
                    named(sound.certain()).contains(name),
                    name + " is deleted while the manifest may still name it");
              } else if (isMerger()) {
                String when = "before operation " + moments.incrementAndGet() + ", " + operation;
                publications.addAndGet(
                    operation == Operation.SYNC_FILE && name.equals(Manifest.NAME) ? 1 : 0);
                check(engine, when);
                long bytes = engine.stats().tableBytes();
                assertTrue(
                    bytes <= bytesBefore + 4 * OPTIONS.tableBytes(),
                    when + ": " + bytes + " bytes of tables, before it " + bytesBefore);
                scans.forEach(SlowScan::step);
                if (moments.get() % 20 == 1) {
                  scans.add(new SlowScan(engine));
                }
                checkAfterRestart(sound.afterKill(), when + ": killed");
                checkAfterRestart(sound.certain(), when + ": nothing unsynced survived");
                checkAfterRestart(sound.losePower(random), when + ": some of it survived");
              }
            } catch (Throwable e) {
              failure.compareAndSet(null, e);
            }
          });
      engine.compact();
      check(engine, "at the end");
      for (SlowScan scan : scans) {
        scan.finish();
        scan.close();
      }
    }
    sound.setFault((operation, name) -> {});
    if (failure.get() != null) {
      throw new AssertionError(failure.get().getMessage(), failure.get());
    }
    assertTrue(publications.get() >= 5, "pieces: " + publications);
    assertTrue(scans.size() >= 5, "scans: " + scans.size());
    assertTrue(moments.get() >= 80, "moments: " + moments);
    assertTrue(deletions.get() >= 10, "deletions: " + deletions);
    assertEquals(List.of(), sound.inUse());
    assertEquals(named(sound), sound.names(".sst"));
    for (TableEntry entry : Manifest.read(sound).tables()) {
      assertEquals(TableEntry.LEVEL_BOTTOM, entry.level());
    }
    checkAfterRestart(sound, "after the end");
  }

  /** The merge waits after its third piece until a table that it has passed is deleted. */
  @Test
  void tablesThatACompactionHasPassedAreDeletedBeforeItEnds() {
    AtomicInteger publications = new AtomicInteger();
    AtomicInteger deletions = new AtomicInteger();
    AtomicInteger atStandstill = new AtomicInteger(-1);
    try (Engine engine = LsmEngine.open(OPTIONS, sound)) {
      sound.setFault(
          (operation, name) -> {
            boolean table = name.endsWith(".sst");
            if (operation == Operation.DELETE && table) {
              deletions.incrementAndGet();
            } else if (isMerger() && operation == Operation.SYNC_FILE && !table) {
              publications.incrementAndGet();
            } else if (isMerger() && table && publications.get() == 3 && atStandstill.get() < 0) {
              for (int i = 0; i < 10_000 && deletions.get() == 0; i++) {
                giveUpLock(sound);
              }
              atStandstill.set(deletions.get());
            }
          });
      engine.compact();
    }
    assertTrue(atStandstill.get() > 0, "deleted after three pieces: " + atStandstill);
  }

  @Test
  void closingTheStoreEndsACompactionAtAnyMoment() throws Exception {
    int moments = 0;
    boolean met = true;
    for (int n = 1; met; n += 4) {
      met = closeAt(n);
      moments += met ? 1 : 0;
      assertTrue(n < 5_000, "the merge does not end");
    }
    assertTrue(moments >= 25, "moments: " + moments);
  }

  private boolean closeAt(int n) throws Exception {
    SimulatedDirectory directory = sound.afterKill();
    LsmEngine engine = LsmEngine.open(OPTIONS, directory);
    CountDownLatch reached = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    AtomicInteger count = new AtomicInteger();
    directory.setFault(
        (operation, name) -> {
          if (isMerger() && count.incrementAndGet() == n) {
            reached.countDown();
            while (goOn.getCount() > 0) {
              giveUpLock(directory);
            }
          }
        });
    Thread asker =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    engine.compact();
                  } catch (IllegalStateException e) {
                    // the store is closed before it was done
                  } finally {
                    reached.countDown();
                  }
                });
    reached.await();
    boolean met = count.get() >= n;
    if (!met) {
      asker.join();
    }
    Thread closer = Thread.ofPlatform().start(engine::close);
    if (met) {
      // It has told the merge to end, and waits for its thread.
      while (!isIn(closer, "join")) {
        Thread.onSpinWait();
      }
    }
    goOn.countDown();
    closer.join();
    asker.join();
    assertEquals(List.of(), directory.inUse(), "closed at operation " + n);
    assertEquals(named(directory), directory.names(".sst"), "closed at operation " + n);
    checkAfterRestart(directory, "closed at operation " + n);
    return met;
  }

  private static boolean isIn(Thread thread, String method) {
    for (StackTraceElement element : thread.getStackTrace()) {
      if (element.getMethodName().equals(method)) {
        return true;
      }
    }
    return false;
  }

  private static void giveUpLock(SimulatedDirectory directory) {
    try {
      directory.wait(1);
    } catch (InterruptedException e) {
      throw new AssertionError("threads of an engine are not interrupted", e);
    }
  }

  @Test
  void anErrorAtAnyOperationLeavesNoFileBehindAndNothingOpen() throws Exception {
    boolean met = true;
    for (int n = 1; met; n++) {
      met = failAt(n);
      assertTrue(n < 5_000, "the merge does not end");
    }
  }

  private boolean failAt(int n) throws IOException, InterruptedException {
    SimulatedDirectory directory = sound.afterKill();
    AtomicInteger count = new AtomicInteger();
    AtomicReference<String> failed = new AtomicReference<>("");
    String last = "operation " + n;
    try (Engine engine = LsmEngine.open(OPTIONS, directory)) {
      directory.setFault(
          (operation, name) -> {
            if (isMerger() && count.incrementAndGet() == n) {
              failed.set(operation + " " + name);
              throw new IOException("injected: " + failed);
            }
          });
      if (!compacted(engine)) {
        check(engine, last);
        checkAfterRestart(directory.afterKill(), last + ", then killed");
      }
      if (failed.get().startsWith("SYNC")) {
        assertThrows(ReadOnlyException.class, () -> engine.put(bytes("no"), bytes("more")), last);
      } else {
        for (int tries = 0; !compacted(engine); tries++) {
          assertTrue(tries < 30_000, last + ", " + failed + ": the merge is not tried again");
          Thread.sleep(2);
        }
        // One more change of the tables, for what could not be removed at the last one.
        directory.setFault((operation, name) -> {});
        engine.put(bytes(key(0)), bytes(model.get(key(0))));
        engine.flush();
        engine.compact();
      }
      check(engine, last);
    }
    last += ", " + failed;
    assertEquals(List.of(), directory.inUse(), last);
    if (!failed.get().startsWith("SYNC") && !failed.get().startsWith("DELETE")) {
      assertEquals(named(directory), directory.names(".sst"), last);
    }
    checkAfterRestart(directory, last);
    return !failed.get().isEmpty();
  }

  private static boolean compacted(Engine engine) {
    try {
      engine.compact();
      return true;
    } catch (ReadOnlyException e) {
      return false;
    }
  }
}
