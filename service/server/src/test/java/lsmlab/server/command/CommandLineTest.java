package lsmlab.server.command;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import lsmlab.server.config.ServiceConfig;
import lsmlab.server.variant.Variants;
import lsmlab.storage.engines.Engines;
import lsmlab.storage.table.TableFormat;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

class CommandLineTest {

  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private int execute(String... arguments) {
    CommandLine commandLine = Main.commandLine();
    commandLine.setOut(new PrintWriter(out, true));
    commandLine.setErr(new PrintWriter(err, true));
    return commandLine.execute(arguments);
  }

  @Test
  void variantsAndEnginesAreListedFromTheirRegistries() throws Exception {
    List<String> variants = Variants.all().stream().map(Variants.Entry::name).toList();
    List<String> engines = Engines.all().stream().map(Engines.Entry::name).toList();
    assertEquals(variants, listed("variants"));
    assertEquals(engines, listed("engines"));
    List<Integer> versions = List.of(TableFormat.VERSION, TableFormat.VERSION_COMPRESSED);
    List<String> formats =
        Stream.concat(versions.stream().map(String::valueOf), Stream.of("textbook-1")).toList();
    assertEquals(formats, listed("table-format"));
    assertEquals(0, execute("variants"));
    assertEquals(variants.size(), out.toString().lines().count());
    assertTrue(out.toString().startsWith("sync "), out.toString());
  }

  @Test
  void theListOfEnginesSaysWhatTheyKeep() throws Exception {
    assertEquals(0, execute("engines", "--json"));
    Map<String, String> keeps = new HashMap<>();
    for (JsonNode engine : new ObjectMapper().readTree(out.toString())) {
      keeps.put(engine.get("name").asText(), engine.get("keeps").asText());
    }
    assertEquals("killed", keeps.get("lsm"));
    assertEquals("closed", keeps.get("textbook"));
    assertEquals("nothing", keeps.get("memory"));
    out.getBuffer().setLength(0);
    assertEquals(0, execute("engines"));
    assertTrue(out.toString().contains("textbook         keeps closed   the teaching engine"));
  }

  @Test
  void theKeysOfAConfigurationAreListedWithDefaultsAndRanges() throws Exception {
    assertEquals(0, execute("config", "--json"));
    JsonNode list = new ObjectMapper().readTree(out.toString());
    List<String> components =
        Stream.of(ServiceConfig.class.getRecordComponents())
            .map(each -> each.getName().replaceAll("([A-Z])", "_$1").toLowerCase(Locale.ROOT))
            .toList();
    assertEquals(components, list.findValuesAsText("name"));
    Map<String, JsonNode> keys = new HashMap<>();
    list.forEach(key -> keys.put(key.get("name").asText(), key));
    assertEquals(
        "{\"name\":\"fanout\",\"type\":\"number\",\"default\":10,\"min\":2,\"max\":100,"
            + "\"engine\":\"lsm\",\"help\":\"Size of a level as a multiple of the one above it\"}",
        keys.get("fanout").toString());
    assertTrue(keys.get("data_dir").get("default").isNull());
    assertEquals("[\"none\",\"lz4\"]", keys.get("compression").get("choices").toString());
  }

  private List<String> listed(String what) throws Exception {
    assertEquals(0, execute(what, "--json"));
    JsonNode list = new ObjectMapper().readTree(out.toString());
    out.getBuffer().setLength(0);
    for (JsonNode item : list) {
      assertTrue(item.get("summary").asText().length() > 10);
      assertTrue(item.get("summary").asText().length() < 100);
    }
    return list.findValuesAsText("name");
  }

  @Test
  void helpListsTheCommandsAndTheKeysOfTheConfiguration() {
    assertEquals(0, execute("--help"));
    for (String word :
        new String[] {"serve", "load-dataset", "verify", "variants", "engines", "table-format"}) {
      assertTrue(out.toString().contains(word), out.toString());
    }
    assertEquals(0, execute("serve", "--help"));
    for (String key : new String[] {"data_dir", "queue_capacity", "durability", "memtables_max"}) {
      assertTrue(out.toString().contains(key), out.toString());
    }
  }

  @Test
  void badUsageIs2() {
    assertEquals(2, execute());
    assertEquals(2, execute("serve"));
    assertEquals(2, execute("sevre"));
    assertTrue(err.toString().contains("serve"), err.toString());
    assertEquals(2, execute("serve", "--config", "/no/such/file"));
    assertTrue(err.toString().contains("/no/such/file: cannot be read"), err.toString());
  }
}
