package lsmlab.server.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import lsmlab.server.http.RawClient;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A service whose disk runs full, on a small tmpfs. Mounting needs root; without that right these tests are skipped and
 * say so.
 */
class DiskFullTest {

  private static final int DISK_MIB = 24;
  private static final int BALLAST_BYTES = 12 << 20;
  private static final int WRITES_MAX = 5_000;
  private static final int RETRY_SECONDS_MAX = 60;

  @TempDir Path temporary;
  private Path disk;

  @BeforeEach
  void mount() throws Exception {
    disk = Files.createDirectory(temporary.resolve("disk"));
    Process mount =
        new ProcessBuilder(
                "mount", "-t", "tmpfs", "-o", "size=" + DISK_MIB + "m", "tmpfs", disk.toString())
            .redirectErrorStream(true)
            .start();
    String said = new String(mount.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    Assumptions.assumeTrue(
        mount.waitFor() == 0, "skipped: no tmpfs can be mounted here (it needs root): " + said);
  }

  @AfterEach
  void unmount() throws Exception {
    new ProcessBuilder("umount", "--lazy", disk.toString()).start().waitFor(10, TimeUnit.SECONDS);
  }

  private static String value(int i) {
    return i + ":" + "v".repeat(10_000 + i % 100);
  }

  private static RawClient.Reply put(RawClient client, int i) throws IOException {
    String head = "PUT /v0/entity?id=key" + i % 300 + " HTTP/1.1\r\nHost: h\r\nContent-Length: ";
    String value = value(i);
    return client.exchange(head + value.length() + "\r\n\r\n" + value);
  }

  private static void checkAll(RawClient client, Map<Integer, Integer> acknowledged)
      throws IOException {
    for (Map.Entry<Integer, Integer> entry : acknowledged.entrySet()) {
      RawClient.Reply reply =
          client.exchange(
              "GET /v0/entity?id=key" + entry.getKey() + " HTTP/1.1\r\nHost: h\r\n\r\n");
      assertEquals(200, reply.status(), "key" + entry.getKey());
      assertEquals(value(entry.getValue()), reply.body());
    }
  }

  /** With compaction off no space is ever freed, so the disk always runs full. */
  @ParameterizedTest
  @CsvSource({"process,100000000", "power,100000000", "process,500000", "power,500000"})
  void writesAreRefusedWhileItIsFullAndNothingIsLost(String durability, int flushThreshold)
      throws Exception {
    String[] config = {
      "durability: " + durability,
      "flush_threshold_bytes: " + flushThreshold,
      "compaction: off",
      "memtables_max: 2"
    };
    Path ballast = disk.resolve("ballast");
    Files.write(ballast, new byte[BALLAST_BYTES]);
    Map<Integer, Integer> acknowledged = new HashMap<>();
    int next = 0;
    try (ServiceProcess service = ServiceProcess.serve(disk, config);
        RawClient client = service.connect()) {
      RawClient.Reply reply = put(client, next);
      for (; reply.status() == 201; reply = put(client, next)) {
        acknowledged.put(next % 300, next);
        assertTrue(++next < WRITES_MAX, "the disk does not run full");
      }
      assertEquals(503, reply.status(), reply.body());
      assertTrue(reply.headers().containsKey("retry-after"), reply.headers().toString());
      checkAll(client, without(acknowledged, next % 300));

      Files.delete(ballast);
      for (int i = 0; i < 100; i++, next++) {
        putPatiently(client, next);
        acknowledged.put(next % 300, next);
      }
      checkAll(client, acknowledged);
      service.kill();
    }
    try (ServiceProcess service = ServiceProcess.serve(disk, config);
        RawClient client = service.connect()) {
      checkAll(client, acknowledged);
    }
  }

  /**
   * Repeats a PUT until it is accepted: a failed flush is tried again after a while, and writes may be held back until
   * then.
   */
  private static void putPatiently(RawClient client, int i) throws Exception {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(RETRY_SECONDS_MAX);
    RawClient.Reply reply = put(client, i);
    while (reply.status() == 503 && System.nanoTime() < deadline) {
      Thread.sleep(100);
      reply = put(client, i);
    }
    assertEquals(201, reply.status(), "there is space again: " + reply.body());
  }

  private static Map<Integer, Integer> without(Map<Integer, Integer> all, int key) {
    Map<Integer, Integer> others = new HashMap<>(all);
    others.remove(key);
    return others;
  }
}
