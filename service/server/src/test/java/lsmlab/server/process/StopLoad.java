package lsmlab.server.process;

import java.io.IOException;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import lsmlab.server.http.RawClient;

/**
 * Clients that put pairs until the service stops, singly, pipelined, or on ever new connections, and remember the
 * responses.
 */
final class StopLoad {

  /** By key: the numbers of the last write acknowledged and of the last one sent. */
  record Written(int acknowledged, int sent) {}

  static final int KEYS_PER_CLIENT = 50;
  private static final long JOIN_MILLIS_MAX = 90_000;

  final Map<String, Written> written = new ConcurrentHashMap<>();
  final AtomicInteger acknowledged = new AtomicInteger();

  /** Clients whose last connection was ended by the service. */
  final AtomicInteger ended = new AtomicInteger();

  /** Requests that got neither a response nor the end of their connection, and unexpected responses. */
  final List<String> failures = java.util.Collections.synchronizedList(new ArrayList<>());

  private final List<Thread> clients = new ArrayList<>();

  /** Starts this many clients; each ends when its connection does. */
  StopLoad(ServiceProcess service, int count) {
    start(service, count, 1, false);
  }

  /**
   * Starts more clients.
   *
   * @param depth requests that are sent before their responses are read, up to {@value #KEYS_PER_CLIENT}
   * @param reconnecting whether each such batch has a connection of its own; these end when they cannot connect
   */
  StopLoad start(ServiceProcess service, int count, int depth, boolean reconnecting) {
    for (int i = 0; i < count; i++) {
      int client = clients.size();
      Client life = new Client(service, client, depth, reconnecting);
      clients.add(Thread.ofPlatform().start(life));
    }
    return this;
  }

  int clients() {
    return clients.size();
  }

  private final class Client implements Runnable {
    private final ServiceProcess service;
    private final int client;
    private final int depth;
    private final boolean reconnecting;
    private int next = 1;

    Client(ServiceProcess service, int client, int depth, boolean reconnecting) {
      this.service = service;
      this.client = client;
      this.depth = depth;
      this.reconnecting = reconnecting;
    }

    @Override
    public void run() {
      while (true) {
        RawClient connection;
        try {
          connection = service.connect();
        } catch (IOException e) {
          ended.incrementAndGet();
          return;
        }
        try (connection) {
          do {
            batch(connection);
          } while (!reconnecting);
        } catch (SocketTimeoutException e) {
          failures.add("client " + client + " got neither a response nor an end");
          return;
        } catch (IOException e) {
          if (!reconnecting) {
            ended.incrementAndGet(); // the connection ended, as it must when the service does
            return;
          }
        }
      }
    }

    private void batch(RawClient connection) throws IOException {
      StringBuilder requests = new StringBuilder();
      int first = next;
      for (; next < first + depth; next++) {
        String body = value(next);
        int number = next;
        written.merge(
            key(next),
            new Written(0, next),
            (old, none) -> new Written(old.acknowledged(), number));
        requests
            .append("PUT /v0/entity?id=")
            .append(key(next))
            .append(" HTTP/1.1\r\nHost: h\r\nContent-Length: ")
            .append(body.length())
            .append("\r\n\r\n")
            .append(body);
      }
      connection.send(requests.toString());
      for (int number = first; number < next; number++) {
        int status = connection.read().status();
        if (status == 201) {
          written.put(key(number), new Written(number, number));
          acknowledged.incrementAndGet();
        } else if (status != 503) {
          failures.add("status " + status);
        }
      }
    }

    private String key(int number) {
      return "c" + client + "-" + number % KEYS_PER_CLIENT;
    }
  }

  static String value(int n) {
    return n + ":" + "x".repeat(n * 37 % 900);
  }

  /** Returns when all have ended. */
  void join() throws InterruptedException {
    for (Thread client : clients) {
      client.join(JOIN_MILLIS_MAX);
      if (client.isAlive()) {
        failures.add("a client does not end");
      }
    }
  }
}
