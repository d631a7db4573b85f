package lsmlab.server.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import lsmlab.server.http.RawClient;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The log's lines about flushes and compactions, in the form that the lab reads. */
class EventLogTest {

  private static final String MARK = " EventLog - ";
  private static final int WRITES = 300;
  private static final int VALUE_BYTES = 1_000;

  @TempDir Path temporary;

  @Test
  void flushesAndCompactionsAreInTheLogWithTheirBytesAndTimes() throws Exception {
    long before = System.currentTimeMillis();
    List<JsonNode> events;
    try (ServiceProcess service =
        ServiceProcess.serve(temporary, flagsOfTheLog(), "flush_threshold_bytes: 50000")) {
      try (RawClient client = new RawClient(service.dataPort())) {
        for (int i = 0; i < WRITES; ) {
          String put = "PUT /v0/entity?id=key" + i + " HTTP/1.1\r\nHost: h\r\nContent-Length: ";
          String value = "v".repeat(VALUE_BYTES);
          int status = client.exchange(put + VALUE_BYTES + "\r\n\r\n" + value).status();
          i += status == 201 ? 1 : 0; // 503 while flushes do not keep up
        }
      }
      try (RawClient admin = new RawClient(service.adminPort())) {
        for (String command : List.of("/flush", "/compact")) {
          String post = " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
          assertEquals(200, admin.exchange("POST " + command + post).status());
        }
      }
      service.terminate();
      assertEquals(0, service.exitCode());
      events = events(service.errors());
    }
    long after = System.currentTimeMillis();
    for (JsonNode event : events) {
      double start = event.get("start_ms").asDouble();
      double millis = event.get("ms").asDouble();
      assertTrue(millis > 0 && start > before && start + millis < after + 1, event.toString());
    }
    long written = (long) WRITES * VALUE_BYTES;
    List<JsonNode> flushes = of(events, "flush");
    assertTrue(sum(flushes, "bytes") >= written, flushes.toString());
    assertTrue(flushes.stream().allMatch(e -> e.get("bytes_in").asLong() > 0), flushes.toString());
    List<JsonNode> compactions = of(events, "compaction");
    JsonNode last = compactions.getLast();
    assertTrue(last.get("bytes").asLong() >= written, compactions.toString());
    assertTrue(last.get("bytes_in").asLong() >= written, compactions.toString());
    assertTrue(last.get("tables_in").asInt() > 0, compactions.toString());
    assertTrue(last.get("level").asInt() > 0, compactions.toString());
    assertTrue(last.get("from_level").asInt() <= last.get("level").asInt(), compactions.toString());
  }

  private static List<String> flagsOfTheLog() throws Exception {
    List<String> lines = Files.readAllLines(Path.of("..", "jvm.options"));
    return lines.stream().filter(line -> line.startsWith("-Dorg.slf4j")).toList();
  }

  private static List<JsonNode> events(String log) throws Exception {
    List<JsonNode> events = new ArrayList<>();
    for (String line : log.lines().filter(line -> line.contains(MARK)).toList()) {
      events.add(new ObjectMapper().readTree(line.substring(line.indexOf(MARK) + MARK.length())));
    }
    return events;
  }

  private static List<JsonNode> of(List<JsonNode> events, String type) {
    return events.stream().filter(event -> event.get("event").asText().equals(type)).toList();
  }

  private static long sum(List<JsonNode> events, String field) {
    return events.stream().mapToLong(event -> event.get(field).asLong()).sum();
  }
}
