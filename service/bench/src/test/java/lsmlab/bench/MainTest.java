package lsmlab.bench;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

class MainTest {

  private static final String PAGE =
      "<!-- bench-storage:begin -->\nold\n<!-- bench-storage:end -->\n";

  @TempDir Path temporary;
  private final StringWriter errors = new StringWriter();

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "--engines=lsm,leveldb;no engine 'leveldb' that keeps its pairs; there are",
        "--engines=lsm,memory;no engine 'memory'",
        "--engines=lsm,lsm;names an engine twice",
        "--workloads=got;no workload 'got'; there are [get, memory",
        "--scale=0;--scale must be above 0 and at most 100, not 0.0",
        "--rounds=0;--rounds must be 1 or more, not 0",
        "--overwrite-bytes=0;--overwrite-bytes must be 1 or more, not 0",
        "--update-docs=/nowhere/page.md;/nowhere/page.md is not a file",
        "--no-such-option;--no-such-option",
      })
  void theStorageBenchmarkRefusesWhatItCannotDoBeforeItStarts(String option, String part) {
    refuses("storage", option, part);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "--warmup-seconds=0;--warmup-seconds must be 1 or more, not 0",
        "--refusals=0,-1;--refusals must be 0 or more, not [0, -1]",
        "--service-cpu=1;--service-cpu and --load-cpu are both 1: each needs its own",
        "--load-cpu=100000;--load-cpu 100000: there are 0 to",
        "--service=nowhere;nowhere/lsmlab-server.jar is missing: make build-service",
        "--no-such-option;--no-such-option",
      })
  void theServersBenchmarkRefusesWhatItCannotDoBeforeItStarts(String option, String part) {
    refuses("server", option, part);
  }

  private void refuses(String command, String option, String part) {
    Path out = temporary.resolve("out");
    assertEquals(2, run(command, option, "--out", out.toString()));
    assertTrue(errors.toString().contains(part), errors.toString());
    assertFalse(Files.exists(out));
  }

  @Test
  void measuresComparesAndWritesResults() throws IOException {
    JsonNode results = measured("--engines=rocksdb,lsm", "--workloads=open");
    assertEquals(1, results.at("/figures/lsm/open").size());
    assertTrue(results.at("/figures/rocksdb/open/0").asDouble() > 0);
    assertEquals(500, results.at("/environment/value_bytes").asInt());
    String table = Files.readString(temporary.resolve("out").resolve("storage.md"));
    assertTrue(table.contains("| opening the loaded store | ms |"), table);
  }

  @Test
  void aShortOverwriteComparesNoTenthsAndTheSettingsFollowTheTable() throws IOException {
    JsonNode results =
        measured("--engines=lsm,rocksdb", "--workloads=overwrite", "--overwrite-bytes=1000000000");
    assertEquals(1, results.at("/figures/lsm/overwrite_rate_10").size());
    assertTrue(results.at("/figures/lsm/overwrite_rate_kept").isMissingNode());
    String table = Files.readString(temporary.resolve("out").resolve("storage.md"));
    assertTrue(table.contains("| sustained overwrite | 1/s |"), table);
    assertFalse(table.contains("of the last tenth"), table);
    String settings =
        "pairs 1000; value_bytes 500; rounds 1; seconds 1; warmup_seconds 1; overwrite_bytes 1000000;";
    assertTrue(table.contains(settings), table);
  }

  @Test
  void aMeasurementThatFailsTakesNoOtherFiguresWithItAndChangesNoPage() throws IOException {
    measured("--engines=lsm", "--workloads=open");
    try (Stream<Path> files = Files.walk(temporary.resolve("stores"))) {
      for (Path file :
          files.filter(path -> path.getFileName().toString().equals("MANIFEST")).toList()) {
        Files.writeString(file, "damaged");
      }
    }
    Path page = Files.writeString(temporary.resolve("page.md"), PAGE);
    JsonNode results =
        measured(1, "--engines=lsm", "--workloads=open,put", "--update-docs=" + page);
    assertTrue(results.at("/figures/lsm/put_process_1t/0").asDouble() > 0, results.toString());
    assertTrue(results.at("/figures/lsm/open").isMissingNode());
    assertEquals(PAGE, Files.readString(page));
    String part = "no figures of open; a page of documents stays as it was";
    assertTrue(errors.toString().contains(part), errors.toString());
  }

  @Test
  @Tag("slow")
  void everyWorkloadFillsItsRowsOnEveryEngine() throws IOException {
    JsonNode results = measured("--engines=lsm,rocksdb,rocksdb-tuned");
    for (String metric :
        new String[] {
          "get_zipfian", "scan_100", "mixed_2t", "delete_process_1t", "overwrite_rate_kept"
        }) {
      for (String engine : new String[] {"lsm", "rocksdb", "rocksdb-tuned"}) {
        assertTrue(results.at("/figures/" + engine + "/" + metric + "/0").asDouble() > 0, metric);
      }
    }
    String table = Files.readString(temporary.resolve("out").resolve("storage.md"));
    assertTrue(table.contains("| `rocksdb-tuned`, write amplification |"), table);
  }

  /** A look with very small stores. */
  private JsonNode measured(String... options) throws IOException {
    return measured(0, options);
  }

  private JsonNode measured(int exitCode, String... options) throws IOException {
    Path out = temporary.resolve("out");
    String[] all = new String[options.length + 6];
    all[0] = "storage";
    System.arraycopy(options, 0, all, 1, options.length);
    all[options.length + 1] = "--quick";
    all[options.length + 2] = "--scale=0.0005";
    all[options.length + 3] = "--stores=" + temporary.resolve("stores");
    all[options.length + 4] = "--out=" + out;
    all[options.length + 5] = "--seed=2";
    assertEquals(exitCode, run(all), errors.toString());
    return new ObjectMapper().readTree(out.resolve("storage.json").toFile());
  }

  @Test
  void handsOptionsToJmhInTheirOrder() {
    PrintStream before = System.out;
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    System.setOut(new PrintStream(printed, true, UTF_8));
    try {
      assertEquals(0, run("micro", "-lp", "Checksum"));
    } finally {
      System.setOut(before);
    }
    String list = printed.toString(UTF_8);
    assertTrue(list.contains("ChecksumBenchmark.crc32cOfSegment"), list);
    assertTrue(list.contains("param \"bytes\" = {512, 4096}"), list);
    assertFalse(list.contains("MemtableBenchmark"), list);
  }

  private int run(String... arguments) {
    CommandLine command = Main.commandLine();
    command.setErr(new PrintWriter(errors, true));
    return command.execute(arguments);
  }
}
