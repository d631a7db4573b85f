package lsmlab.server.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import lsmlab.server.http.RawClient;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Follows docs/add-a-variant.md: one class and one line. */
class AddAVariantTest {

  private static final Path PAGE = Path.of("..", "..", "docs", "add-a-variant.md");
  private static final Path VARIANTS =
      Path.of("src", "main", "java", "lsmlab", "server", "variant", "Variants.java");

  /** The line of the list before which the page inserts the new one. */
  private static final String BEFORE = "          new Entry(\"queue\",";

  @TempDir Path directory;

  private static List<String> examples() throws IOException {
    return Pattern.compile("^```java\n(.*?)^```$", Pattern.DOTALL | Pattern.MULTILINE)
        .matcher(Files.readString(PAGE))
        .results()
        .map((MatchResult block) -> block.group(1))
        .toList();
  }

  /** Compiles the page's class and the list with the page's line. */
  private Path compile() throws IOException {
    List<String> examples = examples();
    assertEquals(2, examples.size(), "a class and a line");
    assertEquals(1, examples.get(1).lines().count());
    Path newClass = directory.resolve("EveryOtherVariant.java");
    Files.writeString(newClass, examples.get(0));
    String list = Files.readString(VARIANTS);
    assertTrue(list.contains(BEFORE), BEFORE);
    Path newList = directory.resolve("Variants.java");
    Files.writeString(newList, list.replace(BEFORE, examples.get(1) + BEFORE));
    Path classes = Files.createDirectory(directory.resolve("classes"));
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StringWriter messages = new StringWriter();
    try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
      boolean compiled =
          compiler
              .getTask(
                  messages,
                  files,
                  null,
                  List.of("-proc:none", "-d", classes.toString()),
                  null,
                  files.getJavaFileObjects(newClass, newList))
              .call();
      assertTrue(compiled, messages.toString());
    }
    return classes;
  }

  @Test
  void theExampleIsListedAndServes() throws Exception {
    Path classes = compile();
    try (ServiceProcess listing = ServiceProcess.runWith(classes, "variants")) {
      String variants = listing.output();
      assertEquals(0, listing.exitCode());
      assertTrue(variants.contains("\nevery-other "), variants);
    }
    Path config = directory.resolve("service.yaml");
    Files.writeString(
        config,
        "data_dir: %s\ndata_port: 0\nadmin_port: 0\nvariant: every-other\n"
            .formatted(directory.resolve("store")));
    try (ServiceProcess service =
        ServiceProcess.runWith(classes, "serve", "--config", config.toString())) {
      service.awaitReady();
      try (RawClient client = service.connect()) {
        for (int i = 0; i < 10; i++) {
          String target = " /v0/entity?id=k" + i + " HTTP/1.1\r\nHost: h\r\n";
          assertEquals(
              201, client.exchange("PUT" + target + "Content-Length: 1\r\n\r\n" + i).status());
          assertEquals(200, client.exchange("GET" + target + "\r\n").status());
        }
      }
      service.terminate();
      assertEquals(0, service.exitCode(), service.errors());
    }
  }
}
