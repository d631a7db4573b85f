package lsmlab.server.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.UnixOperatingSystemMXBean;
import java.io.EOFException;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.SocketException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import lsmlab.server.http.RawClient;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Many connections that do nothing, or do not read, beside clients that work: memory is bounded and the others notice
 * nothing.
 */
class CrowdTest {

  private static final int SMALL_RECEIVE_BUFFER_BYTES = 8 * 1024;
  private static final int LARGE_VALUE_BYTES = 1 << 20;
  private static final String LARGE_VALUE = "0123456789abcdef".repeat(LARGE_VALUE_BYTES / 16);
  private static final String RANGE = "GET /v0/entities?start=r&end=s HTTP/1.1\r\nHost: h\r\n\r\n";
  private static final int WORKING_CLIENTS = 8;
  private static final int GETS_PER_SLOW_READER = 4;

  @TempDir Path directory;

  @Test
  void aThousandIdleConnectionsAndFullLoad() throws Exception {
    idle(1_000, 500);
  }

  @Test
  @Tag("slow")
  void tenThousandIdleConnectionsAndFullLoad() throws Exception {
    idle(10_000, 10_000);
  }

  @Test
  void slowReadersOfLargeValuesInASmallHeap() throws Exception {
    slowReaders("-Xmx128m", 80, 300);
  }

  @Test
  @Tag("slow")
  void aThousandSlowReadersOfLargeValuesIn512MiB() throws Exception {
    slowReaders("-Xmx512m", 1_000, 5_000);
  }

  @Test
  void aRangeLargerThanTheHeapWaitsForItsReader() throws Exception {
    range("-Xmx80m", 120);
  }

  @Test
  @Tag("slow")
  void aRangeOfAGigabyteWaitsForItsReader() throws Exception {
    range("-Xmx128m", 1_024);
  }

  @ParameterizedTest
  @ValueSource(strings = {"none", "lz4"})
  void rangesOfLargeValuesThatNobodyReadsInASmallHeap(String compression) throws Exception {
    int readers = 200;
    requireFiles(readers + 500);
    try (ServiceProcess service = serve("-Xmx112m", "compression: " + compression)) {
      putLargeValues(service, 20);
      List<RawClient> slow = new ArrayList<>();
      for (int i = 0; i < readers; i++) {
        RawClient client = service.connect(SMALL_RECEIVE_BUFFER_BYTES);
        client.send(RANGE);
        slow.add(client);
      }
      work(service, 500); // meanwhile the responses fill all buffers
      for (RawClient client : slow) {
        client.close();
      }
      work(service, 500);
      assertNoOutOfMemory(service);
    }
  }

  private void idle(int connections, int requestsPerClient) throws Exception {
    requireFiles(connections + 500);
    try (ServiceProcess service = serve("-Xmx512m")) {
      work(service, requestsPerClient);
      double alone = work(service, requestsPerClient);
      List<RawClient> idle = new ArrayList<>();
      for (int i = 0; i < connections; i++) {
        idle.add(service.connect());
      }
      for (RawClient client : idle) {
        assertEquals(404, client.exchange(get("absent")).status());
      }
      double beside = work(service, requestsPerClient);
      for (RawClient client : idle) {
        assertEquals(
            404, client.exchange(get("absent")).status(), "an idle connection still works");
        client.close();
      }
      System.out.printf(
          "%d idle connections: %.0f requests/s beside them, %.0f/s without, ratio %.2f%n",
          connections, beside, alone, beside / alone);
      assertNoOutOfMemory(service);
    }
  }

  private void slowReaders(String heap, int readers, int requestsPerClient) throws Exception {
    requireFiles(readers + 500);
    String value = "v".repeat(LARGE_VALUE_BYTES);
    try (ServiceProcess service = serve(heap);
        ExecutorService threads = Executors.newFixedThreadPool(4)) {
      try (RawClient client = service.connect()) {
        assertEquals(201, client.exchange(put("large", value)).status());
      }
      double alone = work(service, requestsPerClient);
      List<RawClient> slow = new ArrayList<>();
      for (int i = 0; i < readers; i++) {
        RawClient client = service.connect(SMALL_RECEIVE_BUFFER_BYTES);
        client.send(get("large").repeat(GETS_PER_SLOW_READER));
        slow.add(client);
      }
      work(service, requestsPerClient); // meanwhile the responses fill all buffers
      double beside = work(service, requestsPerClient);
      AtomicInteger whole = new AtomicInteger();
      AtomicInteger refused = new AtomicInteger();
      AtomicInteger ended = new AtomicInteger();
      List<Future<Void>> reading = new ArrayList<>();
      for (RawClient client : slow) {
        Callable<Void> read = () -> readAll(client, value, whole, refused, ended);
        reading.add(threads.submit(read));
      }
      for (Future<Void> each : reading) {
        each.get();
      }
      assertTrue(whole.get() >= readers / 4, whole + " whole responses");
      work(service, requestsPerClient);
      try (RawClient client = service.connect()) {
        assertEquals(value, client.exchange(get("large")).body(), "large values are served again");
      }
      System.out.printf(
          "%d slow readers of 1 MiB, heap %s: %d responses whole, %d refused with 503, %d connections ended; "
              + "others got %.0f requests/s, %.0f/s before%n",
          readers, heap, whole.get(), refused.get(), ended.get(), beside, alone);
      assertNoOutOfMemory(service);
    }
  }

  private static Void readAll(
      RawClient client,
      String value,
      AtomicInteger whole,
      AtomicInteger refused,
      AtomicInteger ended)
      throws IOException {
    try (client) {
      for (int i = 0; i < GETS_PER_SLOW_READER; i++) {
        RawClient.Response response = client.read();
        if (response.status() == 503) {
          refused.incrementAndGet();
        } else {
          assertEquals(200, response.status());
          assertEquals(value, response.body());
          whole.incrementAndGet();
        }
      }
    } catch (EOFException | SocketException e) {
      ended.incrementAndGet(); // took nothing for longer than the service waits
    }
    return null;
  }

  private void range(String heap, int pairs) throws Exception {
    try (ServiceProcess service = serve(heap)) {
      putLargeValues(service, pairs);
      try (RawClient slow = service.connect(SMALL_RECEIVE_BUFFER_BYTES);
          RawClient other = service.connect()) {
        slow.send(RANGE);
        work(service, 500); // while nobody reads
        int[] seen = {0};
        slow.readChunks(
            chunk -> {
              String expected = "r" + (10_000 + seen[0]) + "\n" + LARGE_VALUE;
              assertEquals(expected, chunk, "pair " + seen[0]);
              seen[0]++;
              if (seen[0] % 16 == 0) {
                assertEquals(404, other.exchange(get("absent")).status());
              }
            });
        assertEquals(pairs, seen[0]);
        assertEquals(404, slow.exchange(get("absent")).status(), "the connection goes on");
      }
      System.out.printf("a range of %d MiB with %s: whole, in order%n", pairs, heap);
      assertNoOutOfMemory(service);
    }
  }

  /** Puts the pairs of {@link #RANGE}. */
  private static void putLargeValues(ServiceProcess service, int pairs) throws IOException {
    try (RawClient client = service.connect()) {
      for (int i = 0; i < pairs; i++) {
        RawClient.Response response;
        do {
          response =
              client.exchange(put("r" + (10_000 + i), LARGE_VALUE)); // 503 while flushes lag behind
        } while (response.status() == 503);
        assertEquals(201, response.status());
      }
    }
    flush(service); // so that those who work beside the range are not refused
  }

  private static void flush(ServiceProcess service) throws IOException {
    String post = "POST /flush HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
    try (RawClient admin = new RawClient(service.adminPort())) {
      assertEquals(200, admin.exchange(post).status());
    }
  }

  private ServiceProcess serve(String heap, String... lines) throws IOException {
    return ServiceProcess.serve(
        directory,
        List.of(heap),
        String.join("\n", lines),
        "variant: queue",
        "flush_threshold_bytes: 8000000",
        "memtables_max: 2");
  }

  /** Clients that put and get small pairs as fast as they can; all must succeed. Returns requests a second. */
  private static double work(ServiceProcess service, int requestsPerClient) throws Exception {
    long began = System.nanoTime();
    try (ExecutorService threads = Executors.newFixedThreadPool(WORKING_CLIENTS)) {
      List<Future<Void>> clients = new ArrayList<>();
      for (int i = 0; i < WORKING_CLIENTS; i++) {
        String key = "w" + i;
        Callable<Void> life = () -> putAndGet(service, key, requestsPerClient);
        clients.add(threads.submit(life));
      }
      for (Future<Void> client : clients) {
        client.get();
      }
    }
    return WORKING_CLIENTS * requestsPerClient / ((System.nanoTime() - began) / 1e9);
  }

  private static Void putAndGet(ServiceProcess service, String key, int requests)
      throws IOException {
    try (RawClient client = service.connect()) {
      for (int i = 0; i < requests; i += 2) {
        assertEquals(201, client.exchange(put(key, "value " + i)).status());
        assertEquals("value " + i, client.exchange(get(key)).body());
      }
    }
    return null;
  }

  private static void assertNoOutOfMemory(ServiceProcess service) throws Exception {
    assertFalse(service.errors().contains("OutOfMemory"), service.errors());
    service.terminate();
    assertEquals(0, service.exitCode(), service.errors());
  }

  /** The service needs as many; a JVM raises its soft limit to the hard one by itself. */
  private static void requireFiles(int count) {
    UnixOperatingSystemMXBean system =
        (UnixOperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    long allowed = system.getMaxFileDescriptorCount();
    assertTrue(
        allowed >= count,
        "a process may have %d files open, this test needs %d: ulimit -Hn %d"
            .formatted(allowed, count, count));
  }

  private static String get(String key) {
    return "GET /v0/entity?id=" + key + " HTTP/1.1\r\nHost: h\r\n\r\n";
  }

  private static String put(String key, String value) {
    return "PUT /v0/entity?id="
        + key
        + " HTTP/1.1\r\nHost: h\r\nContent-Length: "
        + value.length()
        + "\r\n\r\n"
        + value;
  }
}
