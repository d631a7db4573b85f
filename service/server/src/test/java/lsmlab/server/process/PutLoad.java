package lsmlab.server.process;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import lsmlab.server.http.RawClient;

/** Clients that put pairs as fast as they are acknowledged, and remember what was; each key is put more than once. */
final class PutLoad {

  /** By key: the numbers of the last write acknowledged and of the last one sent. */
  record Written(int acknowledged, int sent) {}

  static final int KEYS_PER_CLIENT = 50;

  final Map<String, Written> written = new ConcurrentHashMap<>();
  final AtomicInteger acknowledged = new AtomicInteger();
  final AtomicInteger unanswered = new AtomicInteger();
  private final List<Thread> clients = new ArrayList<>();

  /** Starts them; each ends when its connection does. */
  PutLoad(ServiceProcess service, int count) {
    for (int i = 0; i < count; i++) {
      int client = i;
      clients.add(Thread.ofPlatform().start(() -> put(service, client)));
    }
  }

  private void put(ServiceProcess service, int client) {
    try (RawClient connection = service.connect()) {
      for (int n = 1; ; n++) {
        String key = "c" + client + "-" + n % KEYS_PER_CLIENT;
        int before = written.containsKey(key) ? written.get(key).acknowledged() : 0;
        written.put(key, new Written(before, n));
        String body = value(n);
        String request =
            "PUT /v0/entity?id="
                + key
                + " HTTP/1.1\r\nHost: h\r\nContent-Length: "
                + body.length()
                + "\r\n\r\n"
                + body;
        int status = connection.exchange(request).status();
        if (status == 201) {
          written.put(key, new Written(n, n));
          acknowledged.incrementAndGet();
        } else if (status != 503) {
          throw new IllegalStateException("status " + status);
        }
      }
    } catch (IOException e) {
      unanswered.incrementAndGet(); // the connection ended, as it must when the service does
    }
  }

  static String value(int n) {
    return n + ":" + "x".repeat(n * 37 % 900);
  }

  void join() throws InterruptedException {
    for (Thread client : clients) {
      client.join();
    }
  }
}
