package lsmlab.server.command;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.RandomAccessFile;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import lsmlab.storage.CompactionStrategy;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.bulk.PairGenerator;
import lsmlab.storage.lsm.LsmEngine;
import lsmlab.storage.textbook.TextbookEngine;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** The commands, run as from a shell. */
class DatasetCommandsTest {

  @TempDir Path temporary;

  private record Outcome(int exit, String out, String err) {}

  private static Outcome run(Object command, Object... arguments) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int exit =
        new CommandLine(command)
            .setOut(new PrintWriter(out))
            .setErr(new PrintWriter(err))
            .execute(Arrays.stream(arguments).map(Object::toString).toArray(String[]::new));
    return new Outcome(exit, out.toString(), err.toString());
  }

  private static Outcome load(Path dir, Object... more) {
    Object[] arguments = {"--dir", dir, "--pairs", "3000", "--value-bytes", "100", "--seed", "7"};
    Object[] all = Arrays.copyOf(arguments, arguments.length + more.length);
    System.arraycopy(more, 0, all, arguments.length, more.length);
    return run(new LoadDatasetCommand(), all);
  }

  @Test
  void theStoreHoldsThePairsThatTheGeneratorMakes() throws IOException {
    Path dir = temporary.resolve("new/store");
    Outcome outcome = load(dir, "--tables", "3");
    assertEquals(0, outcome.exit(), outcome.err());
    JsonNode json = new ObjectMapper().readTree(outcome.out());
    assertEquals(3000, json.get("pairs").asLong());
    assertEquals(100, json.get("value_bytes").asLong());
    assertEquals(7, json.get("seed").asLong());
    assertEquals(3, json.get("tables").asLong());
    assertTrue(json.get("seconds").asDouble() > 0);

    PairGenerator generator = new PairGenerator(100, 100, 7);
    byte[] key = new byte[PairGenerator.KEY_BYTES];
    byte[] value = new byte[generator.valueBytesMax()];
    long tableBytes = 0;
    try (Engine engine = LsmEngine.open(LsmOptions.of(dir))) {
      for (int i = 0; i < 3000; i++) {
        PairGenerator.key(i, key);
        int length = generator.value(i, value);
        assertTrue(length >= 90 && length <= 110, "length " + length);
        assertArrayEquals(Arrays.copyOf(value, length), engine.get(key));
      }
      PairGenerator.key(3000, key);
      assertEquals(null, engine.get(key));
      tableBytes = engine.stats().tableBytes();
      engine.compact();
      assertEquals(0, engine.stats().compactions(), "a dataset is compacted already");
    }
    assertEquals(tableBytes, json.get("bytes").asLong());
    Outcome verified = run(new VerifyCommand(), "--dir", dir);
    assertEquals(0, verified.exit(), verified.err());
    assertTrue(verified.out().startsWith("sound: 3 tables with 3000 entries"), verified.out());
  }

  /** Each lookup searches all tables: the worst case of a store without compaction. */
  @Test
  void overlappingTablesAreSearchedUnlessTheirFiltersExcludeTheKey() throws IOException {
    for (int bits : new int[] {0, 10}) {
      Path dir = temporary.resolve("store" + bits);
      Outcome outcome =
          load(
              dir,
              "--tables",
              "30",
              "--overlapping",
              "--bloom-bits-per-key",
              Integer.toString(bits));
      assertEquals(0, outcome.exit(), outcome.err());
      assertEquals(0, run(new VerifyCommand(), "--dir", dir).exit());
      LsmOptions options = LsmOptions.builder(dir).compaction(CompactionStrategy.OFF).build();
      try (Engine engine = LsmEngine.open(options)) {
        byte[] key = new byte[PairGenerator.KEY_BYTES];
        for (int i = 0; i < 3000; i++) {
          PairGenerator.key(i, key);
          assertTrue(engine.get(key) != null, "pair " + i);
        }
        long spared = engine.stats().bloomNegatives();
        assertEquals(bits > 0, spared > 3000 * 10, spared + " tables were spared");
      }
    }
  }

  @Test
  void aStoreOfTheTeachingEngineHoldsTheSamePairsInTheTablesAskedFor() throws IOException {
    for (boolean overlapping : new boolean[] {true, false}) {
      Path dir = temporary.resolve("textbook-" + overlapping);
      Object[] options = {"--engine", "textbook", "--tables", "30", "--overlapping"};
      Outcome outcome = load(dir, Arrays.copyOf(options, overlapping ? 5 : 4));
      assertEquals(0, outcome.exit(), outcome.err());
      JsonNode json = new ObjectMapper().readTree(outcome.out());
      assertEquals("textbook", json.get("engine").asText());
      PairGenerator generator = new PairGenerator(100, 100, 7);
      byte[] key = new byte[PairGenerator.KEY_BYTES];
      byte[] value = new byte[generator.valueBytesMax()];
      try (Engine engine = TextbookEngine.open(LsmOptions.of(dir.resolve("textbook")))) {
        for (int i = 0; i < 3000; i++) {
          PairGenerator.key(i, key);
          int length = generator.value(i, value);
          assertArrayEquals(Arrays.copyOf(value, length), engine.get(key));
        }
        assertEquals(30, engine.stats().tables());
        assertEquals(engine.stats().tableBytes(), json.get("bytes").asLong());
        long spared = engine.stats().bloomNegatives();
        assertTrue(spared > 3000 * 10, spared + " tables were spared");
      }
    }
    Outcome outcome = load(temporary.resolve("none"), "--engine", "rocksdb");
    assertEquals(2, outcome.exit());
    assertTrue(outcome.err().contains("--engine must be lsm or textbook"), outcome.err());
    assertFalse(Files.exists(temporary.resolve("none")));
  }

  @Test
  void theFirstPairsOfADatasetCanHaveValuesOfOneByte() throws IOException {
    Path dir = temporary.resolve("one-byte");
    Outcome outcome = load(dir, "--one-byte-pairs", "10");
    assertEquals(0, outcome.exit(), outcome.err());
    assertEquals(10, new ObjectMapper().readTree(outcome.out()).get("one_byte_pairs").asInt());
    byte[] key = new byte[PairGenerator.KEY_BYTES];
    try (Engine engine = LsmEngine.open(LsmOptions.of(dir))) {
      for (int i = 0; i < 20; i++) {
        PairGenerator.key(i, key);
        assertEquals(i < 10, engine.get(key).length == 1, "pair " + i);
      }
    }
    assertEquals(2, load(temporary.resolve("none"), "--one-byte-pairs", "-1").exit());
  }

  @Test
  void theLayoutOfTablesIsTheCallersChoice() throws IOException {
    long plain = bytes(load(temporary.resolve("plain"), "--unique-percent", "25"));
    long small = bytes(load(temporary.resolve("small"), "--block-bytes", "256"));
    long large = bytes(load(temporary.resolve("large"), "--block-bytes", "32768"));
    Path dir = temporary.resolve("lz4");
    long lz4 = bytes(load(dir, "--unique-percent", "25", "--compression", "lz4"));
    assertTrue(lz4 < plain * 2 / 3, lz4 + " of " + plain);
    assertTrue(large < small, large + " and " + small);
    assertEquals(0, run(new VerifyCommand(), "--dir", dir).exit());

    Path none = temporary.resolve("none");
    for (String[] wrong :
        new String[][] {
          {"--compression", "zstd", "--compression must be none or lz4, not zstd"},
          {"--unique-percent", "0", "unique percent must be 1 to 100, not 0"},
          {"--block-bytes", "63", "blockBytes must be 64 to 16777216, not 63"},
          {"--bloom-bits-per-key", "65", "bloomBitsPerKey must be 0 to 64, not 65"},
        }) {
      Outcome outcome = load(none, wrong[0], wrong[1]);
      assertEquals(2, outcome.exit());
      assertTrue(outcome.err().contains(wrong[2]), outcome.err());
      assertFalse(Files.exists(none));
    }
  }

  private static long bytes(Outcome outcome) throws IOException {
    assertEquals(0, outcome.exit(), outcome.err());
    return new ObjectMapper().readTree(outcome.out()).get("bytes").asLong();
  }

  @Test
  void theSameArgumentsGiveTheSameBytesAndOthersDoNot() throws IOException {
    Path first = temporary.resolve("first");
    Path second = temporary.resolve("second");
    String hash = hash(load(first));
    assertEquals(hash, hash(load(second)));
    try (var files = Files.list(first)) {
      for (Path file : files.toList()) {
        assertEquals(-1, Files.mismatch(file, second.resolve(file.getFileName())));
      }
    }
    Outcome other =
        run(
            new LoadDatasetCommand(),
            "--dir",
            temporary.resolve("third"),
            "--pairs",
            "3000",
            "--value-bytes",
            "100",
            "--seed",
            "8");
    assertNotEquals(hash, hash(other));
  }

  private static String hash(Outcome outcome) throws IOException {
    assertEquals(0, outcome.exit(), outcome.err());
    return new ObjectMapper().readTree(outcome.out()).get("content_hash").asText();
  }

  @Test
  void refusesADirectoryThatHoldsSomething() throws IOException {
    Files.writeString(temporary.resolve("mine.txt"), "keep");
    Outcome outcome = load(temporary);
    assertEquals(2, outcome.exit());
    assertTrue(outcome.err().contains("is not empty (it has mine.txt)"), outcome.err());
    assertEquals("keep", Files.readString(temporary.resolve("mine.txt")));
  }

  @Test
  void refusesNumbersOutOfRangeAndLeavesNothing() {
    Path dir = temporary.resolve("none");
    Outcome outcome =
        run(
            new LoadDatasetCommand(),
            "--dir",
            dir,
            "--pairs",
            "0",
            "--value-bytes",
            "100",
            "--seed",
            "1");
    assertEquals(2, outcome.exit());
    assertTrue(outcome.err().contains("pairs are 1 to 1000000000, not 0"), outcome.err());
    assertFalse(Files.exists(dir));

    outcome = load(dir, "--tables", "4000");
    assertEquals(2, outcome.exit());
    assertTrue(outcome.err().contains("tables are 1 to the number of pairs"), outcome.err());
    assertFalse(Files.exists(dir));
  }

  @Test
  void refusesADatasetThatDoesNotFitTheDevice() {
    Path dir = temporary.resolve("huge");
    Outcome outcome =
        run(
            new LoadDatasetCommand(),
            "--dir",
            dir,
            "--pairs",
            "1000000000",
            "--value-bytes",
            "60000000",
            "--seed",
            "1");
    assertEquals(1, outcome.exit());
    assertTrue(outcome.err().contains("not enough space for the dataset"), outcome.err());
    assertFalse(Files.exists(dir));
  }

  @Test
  void verifyNamesTheFileAndTheOffsetOfDamage() throws IOException {
    Path dir = temporary.resolve("store");
    assertEquals(0, load(dir, "--tables", "1").exit());
    try (RandomAccessFile file = new RandomAccessFile(dir.resolve("000001.sst").toFile(), "rw")) {
      file.seek(5000);
      int old = file.read();
      file.seek(5000);
      file.write(old ^ 1);
    }
    Outcome outcome = run(new VerifyCommand(), "--dir", dir);
    assertEquals(1, outcome.exit());
    assertTrue(outcome.err().contains("000001.sst at offset"), outcome.err());
    assertTrue(outcome.err().contains("checksum of block 1 does not match"), outcome.err());
  }

  @Test
  void verifyRefusesADirectoryWithoutAStore() {
    Outcome outcome = run(new VerifyCommand(), "--dir", temporary);
    assertEquals(2, outcome.exit());
    assertTrue(outcome.err().contains("is not a store"), outcome.err());
    assertEquals(2, run(new VerifyCommand(), "--dir", temporary.resolve("nowhere")).exit());
  }

  @Test
  void verifyDoesNotCallAnOpenStoreDamaged() throws IOException {
    Path dir = temporary.resolve("store");
    assertEquals(0, load(dir, "--tables", "1").exit());
    try (Engine engine = LsmEngine.open(LsmOptions.of(dir))) {
      Outcome outcome = run(new VerifyCommand(), "--dir", dir);
      assertEquals(2, outcome.exit());
      assertTrue(outcome.err().contains("not checked: "), outcome.err());
      assertTrue(outcome.err().contains("the store is open elsewhere"), outcome.err());
    }
    assertEquals(0, run(new VerifyCommand(), "--dir", dir).exit());
  }

  @Test
  void verifySaysWhyAFileCannotBeRead() throws IOException {
    Path dir = temporary.resolve("store");
    assertEquals(0, load(dir, "--tables", "1").exit());
    Path table = dir.resolve("000001.sst");
    Files.delete(table);
    Files.createSymbolicLink(table, temporary.resolve("nowhere"));
    Outcome outcome = run(new VerifyCommand(), "--dir", dir);
    assertEquals(2, outcome.exit());
    assertTrue(outcome.err().contains("not checked: " + table + ": no such file"), outcome.err());
  }
}
