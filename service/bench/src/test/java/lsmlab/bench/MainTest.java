package lsmlab.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
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
        "--update-docs=/nowhere/page.md;/nowhere/page.md is not a file",
        "--no-such-option;--no-such-option",
      })
  void refusesWhatItCannotDoBeforeItStarts(String option, String part1) {
    Path out = temporary.resolve("out");
    assertEquals(2, run("storage", option, "--out", out.toString()));
    assertTrue(errors.toString().contains(part1), errors.toString());
    assertFalse(Files.exists(out));
  }

  @Test
  void measuresComparesAndWritesWhatItFound() throws Exception {
    Path out = temporary.resolve("out");
    int exit =
        run(
            "storage",
            "--engines=lsm,rocksdb",
            "--scale=0.0005",
            "--repetitions=1",
            "--seconds=1",
            "--warmup-seconds=1",
            "--overwrite-seconds=1",
            "--stores=" + temporary.resolve("stores"),
            "--out=" + out);
    assertEquals(0, exit, errors.toString());
    JsonNode rows = new ObjectMapper().readTree(out.resolve("storage.json").toFile());
    assertEquals(lsmlab.bench.report.Metric.ALL.size(), rows.size());
    for (JsonNode row : rows) {
      assertEquals("rocksdb", row.get("peer_name").asText());
      assertTrue(
          row.get("ours").asDouble() > 0 || row.get("metric").asText().contains("allocated"));
      assertEquals(2, row.get("spread").size());
      assertEquals(1, row.get("runs").asInt());
    }
    assertTrue(Files.readString(out.resolve("storage.md")).contains("GET present, 1 thread"));
  }

  private int run(String... arguments) {
    CommandLine command = Main.commandLine();
    command.setErr(new PrintWriter(errors, true));
    return command.execute(arguments);
  }
}
