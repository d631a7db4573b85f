package lsmlab.server.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import lsmlab.server.command.LoadDatasetCommand;
import lsmlab.server.http.RawClient;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.lsm.LsmEngine;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

/** The service over each engine: it starts with the dataset's pairs and keeps what it acknowledged. */
class EnginesTest {

  private static final int PAIRS = 1_000;

  @TempDir Path directory;

  private Path dataset(String... more) {
    Path store = directory.resolve("store");
    List<String> arguments = new ArrayList<>(List.of(more));
    arguments.addAll(List.of("--dir", store.toString(), "--pairs", "" + PAIRS));
    arguments.addAll(List.of("--value-bytes", "100", "--seed", "3"));
    String[] words = arguments.toArray(String[]::new);
    assertEquals(0, new CommandLine(new LoadDatasetCommand()).execute(words));
    return store;
  }

  private static String key(int i) {
    return "k%09d".formatted(i);
  }

  private static RawClient.Response get(RawClient client, String key) throws IOException {
    return client.exchange("GET /v0/entity?id=" + key + " HTTP/1.1\r\nHost: h\r\n\r\n");
  }

  private static void put(RawClient client, String key, String value) throws IOException {
    String head = "PUT /v0/entity?id=" + key + " HTTP/1.1\r\nHost: h\r\nContent-Length: ";
    assertEquals(201, client.exchange(head + value.length() + "\r\n\r\n" + value).status());
  }

  @ParameterizedTest
  @ValueSource(strings = {"lsm", "rocksdb", "mvstore", "memory", "textbook"})
  void startsWithThePairsOfTheDataset(String engine) throws Exception {
    Path store = dataset();
    String[] expected = new String[PAIRS];
    try (Engine sound = LsmEngine.open(LsmOptions.of(store))) {
      for (int i = 0; i < PAIRS; i++) {
        byte[] value = sound.get(key(i).getBytes(StandardCharsets.US_ASCII));
        expected[i] = new String(value, StandardCharsets.US_ASCII);
      }
    }
    try (ServiceProcess service = ServiceProcess.serve(directory, "engine: " + engine);
        RawClient client = service.connect()) {
      for (int i = 0; i < PAIRS; i++) {
        assertEquals(expected[i], get(client, key(i)).body(), key(i));
      }
      assertEquals(404, get(client, key(PAIRS)).status());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"lsm", "rocksdb", "mvstore"})
  void acknowledgedWritesSurviveAKill(String engine) throws Exception {
    dataset();
    try (ServiceProcess service = ServiceProcess.serve(directory, "engine: " + engine);
        RawClient client = service.connect()) {
      put(client, key(0), "changed");
      put(client, "new", "pair");
      service.kill();
    }
    try (ServiceProcess service = ServiceProcess.serve(directory, "engine: " + engine);
        RawClient client = service.connect()) {
      assertEquals("changed", get(client, key(0)).body());
      assertEquals("pair", get(client, "new").body());
      assertEquals(200, get(client, key(1)).status());
      service.terminate();
      assertEquals(0, service.exitCode(), service.errors());
    }
  }

  /** A start on a store of the teaching engine copies nothing, and a clean stop keeps the writes. */
  @Test
  void theTeachingEngineStartsOnItsOwnDatasetAndKeepsItsWritesAfterACleanStop() throws Exception {
    dataset("--engine", "textbook", "--tables", "20", "--overlapping");
    String[] settings = {"engine: textbook", "read: merge", "bloom: on", "flush_backlog: fail"};
    try (ServiceProcess service = ServiceProcess.serve(directory, settings);
        RawClient client = service.connect()) {
      assertEquals(200, get(client, key(PAIRS - 1)).status());
      put(client, "new", "pair");
      service.terminate();
      assertEquals(0, service.exitCode(), service.errors());
      assertFalse(service.errors().contains("copied"), service.errors());
    }
    try (ServiceProcess service = ServiceProcess.serve(directory, settings);
        RawClient client = service.connect()) {
      assertEquals("pair", get(client, "new").body());
      assertEquals(200, get(client, key(0)).status());
    }
  }

  @Test
  void anInterruptedCopyStartsAgain() throws Exception {
    Path leftover = dataset().resolve("rocksdb.part");
    Files.createDirectories(leftover);
    Files.writeString(leftover.resolve("CURRENT"), "damaged");
    try (ServiceProcess service = ServiceProcess.serve(directory, "engine: rocksdb");
        RawClient client = service.connect()) {
      assertEquals(200, get(client, key(PAIRS - 1)).status());
    }
  }
}
