package lsmlab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.NavigableMap;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import lsmlab.storage.CheckpointException;
import lsmlab.storage.CompactionStrategy;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.file.OsStoreDirectory;
import lsmlab.storage.file.SimulatedDirectory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CheckpointTest {

  @TempDir private Path temporary;

  private static LsmOptions options(Path directory) {
    return LsmOptions.builder(directory)
        .flushThresholdBytes(20_000)
        .stallMillisMax(60_000)
        .tableBytes(10_000)
        .level0TablesMax(2)
        .build();
  }

  private Engine open(String name) {
    return LsmEngine.open(options(temporary.resolve(name)));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static void fill(Engine engine, int from, int to) {
    for (int i = from; i < to; i++) {
      engine.put(bytes("key%06d".formatted(i)), bytes("value " + i + " ".repeat(50)));
    }
  }

  private static void verify(Path store) throws IOException {
    try (OsStoreDirectory directory = new OsStoreDirectory(store)) {
      StoreVerifier.verify(directory, file -> {});
    }
  }

  @Test
  void aCheckpointHoldsThePairsAndIsIndependent() throws IOException {
    Path copy = temporary.resolve("copy");
    NavigableMap<String, String> before;
    try (Engine engine = open("store")) {
      fill(engine, 0, 2_000);
      engine.delete(bytes("key000007"));
      before = History.contents(engine, "");
      engine.checkpoint(copy);
      verify(copy);
      fill(engine, 1_000, 3_000);
      engine.compact();
      try (Engine other = open("copy")) {
        assertEquals(before, History.contents(other, ""));
        fill(other, 5_000, 7_000);
        other.delete(bytes("key000000"));
        other.compact();
      }
      assertEquals(2_999, History.contents(engine, "").size(), "the store knows nothing of it");
    }
    verify(copy);
    verify(temporary.resolve("store"));
    try (Engine other = open("copy")) {
      assertEquals(before.size() - 1 + 2_000, History.contents(other, "").size());
    }
  }

  @Test
  void aCheckpointTakesNoDiskSpaceForTables() throws IOException {
    Path copy = temporary.resolve("copy");
    try (Engine engine = open("store")) {
      fill(engine, 0, 1_000);
      engine.flush();
      engine.quiesce();
      engine.checkpoint(copy);
      try (Stream<Path> files = Files.list(copy)) {
        List<Path> tables = files.filter(file -> file.toString().endsWith(".sst")).toList();
        assertFalse(tables.isEmpty());
        tables.forEach(table -> assertEquals(2, links(table), table + " has another name"));
      }
    }
  }

  private static int links(Path file) {
    try {
      return (int) Files.getAttribute(file, "unix:nlink");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * One thread writes numbers in order. A checkpoint holds all numbers up to an acknowledged one,
   * and none after it.
   */
  @Test
  void aCheckpointShowsOneMomentDuringWritesAndCompactions() throws Exception {
    AtomicInteger acknowledged = new AtomicInteger();
    AtomicBoolean stop = new AtomicBoolean();
    try (Engine engine = open("store")) {
      Thread writer =
          Thread.ofPlatform()
              .start(
                  () -> {
                    for (int i = 0; !stop.get(); i++) {
                      fill(engine, i, i + 1);
                      acknowledged.set(i + 1);
                    }
                  });
      try {
        for (int i = 0; i < 5; i++) {
          int target = acknowledged.get() + 500;
          while (acknowledged.get() < target) {
            Thread.onSpinWait();
          }
          int atLeast = acknowledged.get();
          engine.checkpoint(temporary.resolve("copy" + i));
          int atMost = acknowledged.get() + 1;
          verify(temporary.resolve("copy" + i));
          try (Engine copy = open("copy" + i)) {
            NavigableMap<String, String> found = History.contents(copy, "");
            assertTrue(found.size() >= atLeast && found.size() <= atMost, found.size() + " pairs");
            assertEquals("key%06d".formatted(found.size() - 1), found.lastKey());
          }
        }
      } finally {
        stop.set(true);
        writer.join();
      }
    }
  }

  @Test
  void anEmptyStoreHasAnEmptyCheckpoint() throws IOException {
    try (Engine engine = open("store")) {
      engine.checkpoint(temporary.resolve("copy"));
    }
    verify(temporary.resolve("copy"));
    try (Engine copy = open("copy")) {
      assertTrue(History.contents(copy, "").isEmpty());
    }
  }

  @Test
  void impossibleTargetsAreRefusedWithTheReasonAndStayUnchanged() throws IOException {
    Files.writeString(temporary.resolve("file"), "mine");
    Files.createDirectory(temporary.resolve("directory"));
    Files.createDirectory(temporary.resolve("broken.part"));
    Files.createSymbolicLink(temporary.resolve("dangling"), temporary.resolve("nowhere"));
    try (Engine engine = open("store")) {
      fill(engine, 0, 10);
      String[][] cases = {
        {"file", " exists: name a directory that does not exist yet"},
        {"directory", " exists: name a directory that does not exist yet"},
        {"dangling", " exists: name a directory that does not exist yet"},
        {"broken", "broken.part exists: another checkpoint is being written there"},
        {"missing/copy", "missing is not a directory: create it first"},
        {"file/copy", "file is not a directory: create it first"},
        {"store/copy", " is inside the store: name a directory outside it"},
        {"directory/../copy", " is not an absolute path without . and .."},
      };
      for (String[] each : cases) {
        Path target = temporary.resolve(each[0]);
        CheckpointException e =
            assertThrows(CheckpointException.class, () -> engine.checkpoint(target));
        assertTrue(e.getMessage().contains(each[1]), e.getMessage());
      }
      CheckpointException e =
          assertThrows(CheckpointException.class, () -> engine.checkpoint(Path.of("relative")));
      assertTrue(e.getMessage().contains("is not an absolute path"), e.getMessage());
      engine.checkpoint(temporary.resolve("copy"));
    }
    assertEquals("mine", Files.readString(temporary.resolve("file")));
    try (Stream<Path> files = Files.list(temporary)) {
      assertEquals(
          List.of("broken.part", "copy", "dangling", "directory", "file", "store"),
          files.map(file -> file.getFileName().toString()).sorted().toList());
    }
  }

  @Test
  void anotherFileSystemIsRefused() throws IOException {
    Path memory = Path.of("/dev/shm");
    assumeTrue(
        Files.isWritable(memory)
            && !Files.getFileStore(memory).equals(Files.getFileStore(temporary)));
    Path target = memory.resolve("lsmlab-checkpoint-" + ProcessHandle.current().pid());
    try (Engine engine = open("store")) {
      CheckpointException e =
          assertThrows(CheckpointException.class, () -> engine.checkpoint(target));
      assertTrue(
          e.getMessage().contains(" is on another file system than the store "), e.getMessage());
    }
    assertFalse(Files.exists(target));
  }

  /**
   * However it ends, the directory holds either no store or a complete one, and the original store
   * is unharmed.
   */
  @Test
  void aCheckpointInterruptedByALossOfPowerIsNoStore() throws IOException {
    int whole = 0;
    for (int seed = 0; seed < 200; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      SimulatedDirectory store = new SimulatedDirectory();
      SimulatedDirectory target = new SimulatedDirectory();
      LsmOptions options =
          LsmOptions.builder(Path.of("unused"))
              .durability(Durability.POWER)
              .compaction(CompactionStrategy.OFF)
              .flushThresholdBytes(2_000)
              .stallMillisMax(60_000)
              .build();
      NavigableMap<String, String> expected = new TreeMap<>();
      LsmEngine engine = LsmEngine.open(options, store);
      boolean returned = false;
      try {
        fill(engine, 0, 100);
        expected = History.contents(engine, "");
        AtomicLong left = new AtomicLong(random.nextInt(1, 30));
        target.setFault(
            (operation, name) -> {
              if (left.decrementAndGet() == 0) {
                target.freeze();
              }
            });
        engine.checkpoint(target);
        returned = true;
      } catch (IOException e) {
        assertTrue(e.getMessage().contains("dead") || e.getMessage().contains("directory"), e + "");
      } finally {
        engine.close();
      }
      SimulatedDirectory after = target.losePower(random);
      boolean isStore = after.list().contains("MANIFEST");
      assertTrue(isStore || !returned, "seed " + seed + ": a finished checkpoint is gone");
      if (isStore) {
        StoreVerifier.verify(after, file -> {});
        after.close();
        try (Engine copy = LsmEngine.open(options, after)) {
          assertEquals(expected, History.contents(copy, ""), "seed " + seed);
        }
        whole++;
      }
      try (Engine again = LsmEngine.open(options, store)) {
        assertEquals(expected, History.contents(again, ""), "seed " + seed);
      }
    }
    assertTrue(whole > 20 && whole < 180, whole + " of 200 were whole");
  }
}
