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
import java.util.stream.Stream;
import lsmlab.server.http.RawClient;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A service whose disk has no more space or inodes, on a small tmpfs. Mounting needs root; without that right these
 * tests are skipped and say so.
 */
class DiskFullTest {

  private static final int DISK_MIB = 24;
  private static final int BALLAST_BYTES = 12 << 20;
  private static final int INODES = 40;
  private static final int BALLAST_FILES = 20;
  private static final int KEYS = 300;
  private static final int WRITES_MAX = 5_000;
  private static final int RETRY_SECONDS_MAX = 60;

  /** Fills the disk as far as that is possible. Throws if it is full. */
  private interface Filling {
    void run() throws IOException;
  }

  @TempDir Path temporary;
  private final Map<Integer, Integer> acknowledged = new HashMap<>();
  private Path disk;
  private int next;

  private void mount(String options) throws Exception {
    disk = Files.createDirectory(temporary.resolve("disk"));
    Process mount =
        new ProcessBuilder("mount", "-t", "tmpfs", "-o", options, "tmpfs", disk.toString())
            .redirectErrorStream(true)
            .start();
    String output = new String(mount.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    Assumptions.assumeTrue(
        mount.waitFor() == 0, "skipped: no tmpfs can be mounted here (it needs root): " + output);
  }

  @AfterEach
  void unmount() throws Exception {
    new ProcessBuilder("umount", "--lazy", disk.toString()).start().waitFor(10, TimeUnit.SECONDS);
  }

  /** With compaction off no space is ever freed, so the disk always runs full. */
  @ParameterizedTest
  @CsvSource({"process,100000000", "power,100000000", "process,500000", "power,500000"})
  void writesAreRefusedWhileItIsFullAndNothingIsLost(String durability, int flushThreshold)
      throws Exception {
    mount("size=" + DISK_MIB + "m");
    checkRefusalsAndRecovery(
        () -> Files.write(disk.resolve("ballast"), new byte[BALLAST_BYTES]),
        durability,
        flushThreshold);
  }

  @ParameterizedTest
  @ValueSource(strings = {"process", "power"})
  void writesAreRefusedWhileNoFileCanBeCreatedAndNothingIsLost(String durability) throws Exception {
    mount("size=1g,nr_inodes=" + INODES);
    checkRefusalsAndRecovery(
        () -> {
          for (int i = 0; i < BALLAST_FILES; i++) {
            Files.createFile(disk.resolve("ballast" + i));
          }
        },
        durability,
        500_000);
  }

  private void checkRefusalsAndRecovery(Filling filling, String durability, int flushThreshold)
      throws Exception {
    String[] config = {
      "durability: " + durability,
      "flush_threshold_bytes: " + flushThreshold,
      "compaction: off",
      "memtables_max: 2"
    };
    fill(filling);
    try (ServiceProcess service = ServiceProcess.serve(disk, config);
        RawClient client = service.connect()) {
      putUntilRefused(client);
      checkAllButTheRefused(client);
      try (RawClient admin = new RawClient(service.adminPort())) {
        String flush = "POST /flush HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
        RawClient.Response refused = admin.exchange(flush);
        int expected =
            refused.body().equals("done\n") ? 200 : 503; // the table may fit where the WAL does not
        assertEquals(expected, refused.status(), refused.body());
      }
      removeBallast();
      putPatiently(client, 100);
      checkAll(client, acknowledged);
      fill(filling);
      putUntilRefused(client);
      service.kill();
    }
    try (ServiceProcess service = ServiceProcess.serve(disk, config);
        RawClient client = service.connect()) {
      checkAllButTheRefused(client); // it is still full
      removeBallast();
      putPatiently(client, 10);
      checkAll(client, acknowledged);
      service.kill();
    }
    try (ServiceProcess service = ServiceProcess.serve(disk, config);
        RawClient client = service.connect()) {
      checkAll(client, acknowledged);
    }
  }

  private static void fill(Filling filling) {
    try {
      filling.run();
    } catch (IOException full) {
      // As it should be.
    }
  }

  private void removeBallast() throws IOException {
    try (Stream<Path> files = Files.list(disk)) {
      for (Path file :
          files.filter(each -> each.getFileName().toString().startsWith("ballast")).toList()) {
        Files.delete(file);
      }
    }
  }

  private static String value(int i) {
    return i + ":" + "v".repeat(10_000 + i % 100);
  }

  private static RawClient.Response put(RawClient client, int i) throws IOException {
    String head = "PUT /v0/entity?id=key" + i % KEYS + " HTTP/1.1\r\nHost: h\r\nContent-Length: ";
    String value = value(i);
    return client.exchange(head + value.length() + "\r\n\r\n" + value);
  }

  /** Writes until a write is refused. Its number is {@code next}; it may be there or not. */
  private void putUntilRefused(RawClient client) throws IOException {
    int first = next;
    RawClient.Response response = put(client, next);
    for (; response.status() == 201; response = put(client, next)) {
      acknowledged.put(next % KEYS, next);
      next++;
      assertTrue(next - first < WRITES_MAX, "the disk does not run full");
    }
    assertEquals(503, response.status(), response.body());
    assertTrue(response.headers().containsKey("retry-after"), response.headers().toString());
  }

  /**
   * Repeats each PUT until it is accepted: a failed flush is tried again after a while, and writes may be held back
   * until then.
   */
  private void putPatiently(RawClient client, int writes) throws Exception {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(RETRY_SECONDS_MAX);
    for (int last = next + writes; next < last; next++) {
      RawClient.Response response = put(client, next);
      while (response.status() == 503 && System.nanoTime() < deadline) {
        Thread.sleep(100);
        response = put(client, next);
      }
      assertEquals(201, response.status(), "there is space again: " + response.body());
      acknowledged.put(next % KEYS, next);
    }
  }

  private void checkAllButTheRefused(RawClient client) throws IOException {
    Map<Integer, Integer> others = new HashMap<>(acknowledged);
    others.remove(next % KEYS);
    checkAll(client, others);
  }

  private static void checkAll(RawClient client, Map<Integer, Integer> expected)
      throws IOException {
    for (Map.Entry<Integer, Integer> entry : expected.entrySet()) {
      RawClient.Response response =
          client.exchange(
              "GET /v0/entity?id=key" + entry.getKey() + " HTTP/1.1\r\nHost: h\r\n\r\n");
      assertEquals(200, response.status(), "key" + entry.getKey());
      assertEquals(value(entry.getValue()), response.body());
    }
  }
}
