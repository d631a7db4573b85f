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
import lsmlab.bench.report.Metric;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

class MainTest {

  @TempDir Path temporary;
  private final StringWriter errors = new StringWriter();

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "--engines=lsm,leveldb;no engine 'leveldb' that keeps its pairs; there are",
        "--engines=lsm,memory;no engine 'memory'",
        "--engines=lsm,lsm;names an engine twice",
        "--workloads=got;no workload 'got'; there are [get, put",
        "--scale=0;--scale is 0.0, allowed are numbers above 0 up to 100",
        "--repetitions=0;--repetitions is 0, allowed are 1 and more",
        "--standstill-seconds=-1;--standstill-seconds is -1, allowed are 0 and more",
        "--update-docs=/nowhere/page.md;/nowhere/page.md is not a file",
        "--no-such-option;--no-such-option",
      })
  void refusesWhatItCannotDoBeforeItStarts(String option, String part1) {
    Path out = temporary.resolve("out");
    assertEquals(2, run("storage", option, "--out", out.toString()));
    assertTrue(errors.toString().contains(part1), errors.toString());
    assertFalse(Files.exists(out));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "--workloads=got;no workload 'got'; there are [get, put, overload]",
        "--warmup-seconds=0;--warmup-seconds is 0, allowed are 1 and more",
        "--final-pairs=-1;--final-pairs is -1, allowed are 0 and more",
        "--metrics-pairs=-1;--metrics-pairs is -1, allowed are 0 and more",
        "--service-cpu=1;--service-cpu and --load-cpu are both 1: each needs its own",
        "--load-cpu=100000;--load-cpu 100000: there are 0 to",
        "--service=nowhere;nowhere/lsmlab-server.jar is missing: make build-service",
        "--no-such-option;--no-such-option",
      })
  void theServersBenchmarkRefusesWhatItCannotDoBeforeItStarts(String option, String part) {
    Path out = temporary.resolve("out");
    assertEquals(2, run("server", option, "--out", out.toString()));
    assertTrue(errors.toString().contains(part), errors.toString());
    assertFalse(Files.exists(out));
  }

  @Test
  void measuresComparesAndWritesWhatItFound() throws Exception {
    JsonNode rows = measured("--engines=rocksdb,lsm", "--workloads=open");
    assertEquals(2, rows.size());
    assertEquals("open", rows.get(0).get("metric").asText());
    assertEquals("lsm", rows.get(0).get("peer_name").asText());
    assertTrue(rows.get(0).has("met"));
    Path environment = temporary.resolve("out").resolve("storage-environment.json");
    JsonNode facts = new ObjectMapper().readTree(environment.toFile());
    assertTrue(facts.get("longest_standstill_ms").asDouble() > 0, facts.toString());
    double taken = facts.get("taken_by_host_percent").asDouble(-1);
    assertTrue(taken >= 0 && taken <= 100, facts.toString());
  }

  @Test
  @Tag("slow")
  void everyWorkloadRunsOnEveryEngineAndFillsEveryMetric() throws Exception {
    JsonNode rows = measured("--engines=lsm,rocksdb", "--overwrite-seconds=1");
    assertEquals(Metric.ALL.size(), rows.size());
  }

  private JsonNode measured(String engines, String what) throws IOException {
    Path out = temporary.resolve("out");
    int exit =
        run(
            "storage",
            engines,
            what,
            "--scale=0.0005",
            "--repetitions=1",
            "--seconds=1",
            "--warmup-seconds=1",
            "--standstill-seconds=1",
            "--stores=" + temporary.resolve("stores"),
            "--out=" + out);
    assertEquals(0, exit, errors.toString());
    JsonNode rows = new ObjectMapper().readTree(out.resolve("storage.json").toFile());
    for (JsonNode row : rows) {
      assertTrue(
          row.get("ours").asDouble() > 0 || row.get("metric").asText().contains("allocated"));
      assertEquals(2, row.get("spread").size());
      assertEquals(1, row.get("runs").asInt());
    }
    assertTrue(Files.readString(out.resolve("storage.md")).contains("| metric |"));
    return rows;
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
    assertFalse(list.contains("AllocationBenchmark"), list);
  }

  private int run(String... arguments) {
    CommandLine command = Main.commandLine();
    command.setErr(new PrintWriter(errors, true));
    return command.execute(arguments);
  }
}
