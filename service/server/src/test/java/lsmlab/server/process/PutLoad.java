package lsmlab.server.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import lsmlab.server.http.RawClient;

/**
 * Clients that write pairs as fast as they are acknowledged, and remember what they wrote: this test's memory survives
 * the kill of the service. A write is noted as sent before its request, and as acknowledged after its response. So
 * after a kill each key holds the write acknowledged last or the one sent after it, never an older one. Each key has
 * one client, is written more than once, and is sometimes deleted.
 */
final class PutLoad {

  /** By key: the numbers of the last write acknowledged and of the last one sent; 0 for none. */
  record Written(int acknowledged, int sent) {}

  static final int KEYS_PER_CLIENT = 50;
  private static final int DELETE_EVERY = 7;

  final Map<String, Written> written = new ConcurrentHashMap<>();
  final AtomicInteger acknowledged = new AtomicInteger();
  final AtomicInteger unanswered = new AtomicInteger();
  private final AtomicInteger lastNumber = new AtomicInteger();
  private final int firstNumber;
  private final List<Thread> clients = new ArrayList<>();

  /** Starts them over an empty store; each ends when its connection does. */
  PutLoad(ServiceProcess service, int count) {
    this(service, count, null);
  }

  /**
   * Starts them over the data of another load.
   *
   * @param before ended and settled; null for an empty store
   */
  PutLoad(ServiceProcess service, int count, PutLoad before) {
    if (before != null) {
      written.putAll(before.written);
    }
    firstNumber = before == null ? 1 : before.lastNumber.get() + 1;
    lastNumber.set(firstNumber);
    for (int i = 0; i < count; i++) {
      int client = i;
      clients.add(Thread.ofPlatform().start(() -> write(service, client)));
    }
  }

  private void write(ServiceProcess service, int client) {
    try (RawClient connection = service.connect()) {
      for (int n = firstNumber; ; n++) {
        String key = "c" + client + "-" + n % KEYS_PER_CLIENT;
        int before = written.getOrDefault(key, new Written(0, 0)).acknowledged();
        written.put(key, new Written(before, n));
        lastNumber.accumulateAndGet(n, Math::max);
        String body = value(n);
        int status = connection.exchange(request(key, body)).status();
        if (status == (body == null ? 202 : 201)) {
          written.put(key, new Written(n, n));
          acknowledged.incrementAndGet();
        } else if (status == 503) {
          written.put(key, new Written(before, before)); // a refusal writes nothing
        } else {
          throw new IllegalStateException("status " + status);
        }
      }
    } catch (IOException e) {
      unanswered.incrementAndGet(); // the connection ended, as it must when the service does
    }
  }

  private static String request(String key, String body) {
    String target = " /v0/entity?id=" + key + " HTTP/1.1\r\nHost: h\r\n";
    return body == null
        ? "DELETE" + target + "\r\n"
        : "PUT" + target + "Content-Length: " + body.length() + "\r\n\r\n" + body;
  }

  /** The value of a key after write n; null for nothing. */
  static String value(int n) {
    return n % DELETE_EVERY == 0 ? null : n + ":" + "x".repeat(n * 37 % 900);
  }

  void join() throws InterruptedException {
    for (Thread client : clients) {
      client.join();
    }
  }

  /**
   * Compares every key with the service's current value. A write without a response is settled by what is found: from
   * now on it must not change.
   */
  void checkAndSettle(ServiceProcess service) throws IOException {
    try (RawClient client = service.connect()) {
      for (Map.Entry<String, Written> entry : written.entrySet()) {
        Written known = entry.getValue();
        String request = "GET /v0/entity?id=" + entry.getKey() + " HTTP/1.1\r\nHost: h\r\n\r\n";
        RawClient.Response response = client.exchange(request);
        String found = response.status() == 404 ? null : response.body();
        if (java.util.Objects.equals(found, value(known.sent()))) {
          entry.setValue(new Written(known.sent(), known.sent()));
        } else {
          assertEquals(value(known.acknowledged()), found, entry.getKey() + ": " + known);
          entry.setValue(new Written(known.acknowledged(), known.acknowledged()));
        }
      }
    }
  }
}
