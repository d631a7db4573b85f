package lsmlab.server.http;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import one.nio.net.Session;
import one.nio.net.Socket;
import one.nio.server.AcceptorConfig;
import one.nio.server.RejectedSessionException;
import one.nio.server.Server;
import one.nio.server.acceptor.Acceptor;
import one.nio.server.acceptor.AcceptorSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Accepts connections as one-nio's own acceptor does, except that it waits after a failure. The library's acceptor
 * retries at once. While the process has no free file descriptor, it uses a whole CPU and logs a stack trace for each
 * attempt.
 */
final class PatientAcceptor implements Acceptor {

  private static final Logger log = LoggerFactory.getLogger(PatientAcceptor.class);
  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private final Server server;
  private final int backlog;
  private final int port;
  private final List<AcceptorThread> threads = new ArrayList<>();
  private final LongAdder accepted = new LongAdder();
  private final LongAdder rejected = new LongAdder();

  /** Binds the port once for each of the threads that the configuration asks for. */
  PatientAcceptor(Server server, AcceptorConfig config) throws IOException {
    this.server = server;
    this.backlog = config.backlog;
    this.port = config.port;
    for (int i = 0; i < config.threads; i++) {
      Socket socket = AcceptorSupport.createServerSocket(config);
      threads.add(new AcceptorThread(socket, config.address + ":" + port, i));
      try {
        socket.bind(config.address, port, backlog);
      } catch (IOException e) {
        threads.forEach(thread -> thread.socket.close());
        throw e;
      }
    }
  }

  private final class AcceptorThread extends Thread {
    private final Socket socket;
    private final int number;
    private final LogLimit limit = new LogLimit();

    AcceptorThread(Socket socket, String address, int number) {
      super("NIO Acceptor " + address + " #" + number);
      this.socket = socket;
      this.number = number;
    }

    @Override
    public void run() {
      while (socket.isOpen()) {
        try {
          Socket client = socket.acceptNonBlocking();
          if (client != null) {
            serve(client);
          }
        } catch (Throwable e) {
          if (socket.isOpen()) {
            pause(e);
          }
        }
      }
    }

    private void serve(Socket client) {
      try {
        Session session = server.createSession(client);
        try {
          server.register(session, number, threads.size());
        } catch (Throwable e) {
          session.close();
          throw e;
        }
        accepted.increment();
      } catch (RejectedSessionException e) {
        rejected.increment();
        client.close();
      } catch (Throwable e) {
        client.close();
        throw e;
      }
    }

    private void pause(Throwable why) {
      if (limit.allows()) {
        log.error("no connection can be accepted, trying again every 100 ms: {}", why.toString());
      }
      LockSupport.parkNanos(PAUSE_NANOS);
    }
  }

  /** Whether all acceptor threads are running. */
  boolean isAlive() {
    return threads.stream().allMatch(Thread::isAlive);
  }

  @Override
  public void start() {
    for (AcceptorThread thread : threads) {
      try {
        thread.socket.listen(backlog);
      } catch (IOException e) {
        throw new UncheckedIOException("cannot listen on port " + port, e);
      }
      thread.start();
    }
  }

  @Override
  public void syncStart() {
    // start() has already been called
  }

  @Override
  public void shutdown() {
    for (AcceptorThread thread : threads) {
      thread.socket.close();
    }
    for (AcceptorThread thread : threads) {
      try {
        thread.join(TimeUnit.NANOSECONDS.toMillis(10 * PAUSE_NANOS));
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  @Override
  public void reconfigure(AcceptorConfig... configs) {
    throw new UnsupportedOperationException("acceptors cannot be changed after the start");
  }

  @Override
  public long getAcceptedSessions() {
    return accepted.sum();
  }

  @Override
  public long getRejectedSessions() {
    return rejected.sum();
  }

  @Override
  public void resetCounters() {
    accepted.reset();
    rejected.reset();
  }

  @Override
  public int getSinglePort() {
    return port;
  }
}
