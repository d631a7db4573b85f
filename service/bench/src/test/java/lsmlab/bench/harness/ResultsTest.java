package lsmlab.bench.harness;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ResultsTest {

  private static final String BEGIN = "<!-- bench-x:begin -->";
  private static final String END = "<!-- bench-x:end -->";

  @TempDir Path temporary;

  @Test
  void everyFigureAndTheEnvironmentAreWrittenAndThePagesTableIsReplaced() throws IOException {
    Path page = temporary.resolve("page.md");
    Files.writeString(page, "before\n" + BEGIN + "\nold\n" + END + "\nafter\n");
    Figures figures = new Figures(System.err);
    figures.add("lsm", "get", 2);
    figures.add("lsm", "get", 3);
    Results results = new Results(temporary, page, Map.of("cpu", "fast"));
    results.fact("pairs", 7);
    results.write("x", figures, "\n| table |\n");

    JsonNode json = new ObjectMapper().readTree(temporary.resolve("x.json").toFile());
    assertEquals(3, json.at("/figures/lsm/get/1").asDouble());
    assertEquals("fast", json.at("/environment/cpu").asText());
    assertTrue(json.at("/environment/taken_by_host_percent").asDouble(-1) >= 0);
    String text = Files.readString(page);
    assertTrue(text.startsWith("before\n" + BEGIN + "\n| table |\n\ncpu fast; pairs 7; "), text);
    assertTrue(text.endsWith(".\n" + END + "\nafter\n"), text);
  }

  @Test
  void aPageWithoutTheMarkersIsUnchanged() throws IOException {
    Path page = temporary.resolve("page.md");
    Files.writeString(page, END + BEGIN);
    IOException refused =
        assertThrows(IOException.class, () -> Results.replace(page, "bench-x", "new"));
    assertTrue(refused.getMessage().contains(BEGIN), refused.getMessage());
    assertEquals(END + BEGIN, Files.readString(page));
  }
}
