package lsmlab.server.variant;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import lsmlab.server.request.Rejection;
import lsmlab.server.request.Request;
import lsmlab.storage.WriteBatch;
import one.nio.server.AcceptorConfig;
import one.nio.server.Server;
import one.nio.server.ServerConfig;

/** Requests without HTTP or storage, and variants started for them. */
final class Probes {

  private Probes() {}

  /** Starts a variant like the service, with a server that never accepts a connection. */
  static Variant start(Variants.Entry entry, VariantSettings settings) {
    Variant variant = entry.factory().apply(settings.withStorage(batch -> {}));
    AcceptorConfig acceptor = new AcceptorConfig();
    acceptor.address = "127.0.0.1";
    ServerConfig config = new ServerConfig();
    config.acceptors = new AcceptorConfig[] {acceptor};
    config.selectors = 1;
    variant.configure(config);
    try {
      Server server = new Server(config);
      variant.attach(server);
      return new Stopping(variant, server);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A variant whose end also ends its server. */
  private record Stopping(Variant variant, Server server) implements Variant {
    @Override
    public void submit(Request request) {
      variant.submit(request);
    }

    @Override
    public int queueDepth() {
      return variant.queueDepth();
    }

    @Override
    public int queueCapacity() {
      return variant.queueCapacity();
    }

    @Override
    public void close() {
      variant.close();
      Thread.ofPlatform().daemon().start(server::stop); // waits for a pool thread that hangs
    }
  }

  /** A request that counts what happens to it. */
  static class Probe implements Request {
    final AtomicInteger runs = new AtomicInteger();
    final AtomicInteger sends = new AtomicInteger();
    final AtomicInteger rejections = new AtomicInteger();
    final int hash;
    final long arrived = System.nanoTime();
    volatile Rejection why;
    volatile Throwable failure;
    volatile String thread;
    volatile boolean virtual;

    Probe(int hash) {
      this.hash = hash;
    }

    @Override
    public void execute() {
      thread = Thread.currentThread().getName();
      virtual = Thread.currentThread().isVirtual();
      runs.incrementAndGet();
    }

    @Override
    public void send() {
      if (runs.get() != 1 || rejections.get() != 0) {
        throw new AssertionError("sent without having been executed");
      }
      sends.incrementAndGet();
    }

    @Override
    public void addTo(WriteBatch batch) {
      byte[] key = ("key" + hash).getBytes(UTF_8);
      batch.put(key, 0, key.length, key, 0, key.length);
    }

    @Override
    public void executed(Throwable why) {
      failure = why;
      thread = Thread.currentThread().getName();
      runs.incrementAndGet();
    }

    @Override
    public void reject(Rejection reason) {
      why = reason;
      rejections.incrementAndGet();
    }

    @Override
    public Kind kind() {
      return Kind.values()[hash & 3];
    }

    @Override
    public int keyHash() {
      return hash;
    }

    @Override
    public long arrivedNanos() {
      return arrived;
    }
  }

  /** A request that keeps its worker busy until it is released. */
  static class Blocker extends Probe {
    final CountDownLatch started = new CountDownLatch(1);
    final CountDownLatch end = new CountDownLatch(1);

    Blocker(int hash) {
      super(hash);
    }

    @Override
    public Kind kind() {
      return Kind.GET;
    }

    @Override
    public void execute() {
      super.execute();
      started.countDown();
      try {
        end.await();
      } catch (InterruptedException e) {
        throw new AssertionError("a worker must not be interrupted", e);
      }
    }
  }
}
