package lsmlab.server.http;

import java.io.IOException;
import java.util.Arrays;
import java.util.Iterator;
import java.util.concurrent.TimeUnit;
import lsmlab.server.metrics.Method;
import lsmlab.server.metrics.Recorder;
import lsmlab.storage.Engine;
import lsmlab.storage.WriteBatch;
import one.nio.net.Selector;
import one.nio.net.Session;
import one.nio.os.NativeLibrary;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A selector thread. Each turn it waits until connections are ready, has each of them read and parse its request, submits
 * all of these, and then sends the replies that are complete on this thread already. Writes that the variant has this
 * thread do are done last, together, and their replies sent.
 *
 * <p><b>Why in steps.</b> The code and the data of a step stay in the CPU's caches from one connection to the next; between
 * them lies the kernel's TCP, which is larger than the caches of the first level.
 *
 * <p><b>Why these replies wait for the end of the turn.</b> Sending a reply wakes its client. Sent one by one, with a
 * look-up between, each reply finds the client's CPU asleep again, and waking it is the dearest part of the system
 * call; sent one after the other they wake it once. The wait is bounded by {@link #HELD_NANOS_MAX} and by
 * {@link #HELD_BYTES_MAX}. To its connection a request whose reply waits here is in flight, just as if a worker had it.
 *
 * <p><b>Why writes wait for each other.</b> Handing records to the kernel, or to the device, costs about as much for all
 * writes of a turn as for one ({@link Engine#write}). Replies that are complete do not wait for them. Nobody can see the
 * difference: a write that waits here has not been acknowledged, and its connection's next request comes after its reply.
 *
 * <p>one-nio's own selector thread has no end of a turn that could be acted upon; its acceptor, selectors' interface,
 * sockets and sessions are used as they are.
 */
final class EventLoop extends Thread {

  private static final Logger log = LoggerFactory.getLogger(EventLoop.class);

  /** Bytes that one connection reads at a time. */
  private static final int READ_BYTES = 64_000;

  /** A larger reply is sent at once. */
  static final int HELD_REPLY_BYTES_MAX = 16 * 1024;

  private static final int HELD_BYTES_MAX = 128 * 1024;
  private static final long HELD_NANOS_MAX = TimeUnit.MICROSECONDS.toNanos(500);

  /** The clock is looked at once for so many requests. */
  private static final int REQUESTS_PER_LOOK = 8;

  /** So many requests are parsed before they are submitted. */
  private static final int GATHERED_MAX = 64;

  /** Where more requests than so many are submitted at once, one in so many of each method is timed. */
  static final int TIMED_ONE_IN = 8;

  /** Writes of so many bytes wait for no more of them. */
  private static final int WRITES_BYTES_MAX = 256 * 1024;

  private final Selector selector;
  private final Recorder recorder;
  private final Engine engine;
  private final ReplyBuffer replies = new ReplyBuffer(2 * HELD_BYTES_MAX);
  private Connection[] gathered = new Connection[GATHERED_MAX];
  private int gatheredCount;
  private Exchange[] held = new Exchange[64];
  private int heldCount;

  /** Writes to be done, and whose they are. */
  private final WriteBatch writes = new WriteBatch();

  private Exchange[] writing = new Exchange[GATHERED_MAX];

  /** By method, requests since the last one that was timed. */
  private final int[] untimed = new int[Method.values().length];

  private boolean manyAtOnce;
  private long submittingNanos;
  private long nowNanos;
  private long turnMillis;

  /**
   * Makes one that {@link #start} starts.
   *
   * @param recorder this thread's own
   * @param engine does the writes
   */
  EventLoop(String name, Recorder recorder, Engine engine) throws IOException {
    super(name);
    this.recorder = recorder;
    this.engine = engine;
    selector = NativeLibrary.IS_SUPPORTED ? Selector.create() : new ChannelSelector(this);
  }

  /** The loop whose thread this is, or null. */
  static EventLoop current() {
    return Thread.currentThread() instanceof EventLoop loop ? loop : null;
  }

  /** Has the connection served from now on. Called by any thread. */
  void register(Session session) {
    selector.register(session);
  }

  /** Connections that are registered. */
  int connections() {
    return selector.size();
  }

  /** Ends the thread after its turn; returns when it has ended. */
  void shutdown() {
    selector.close();
    boolean interrupted = false;
    while (isAlive()) {
      try {
        join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  // ---- on this thread only
  // -----------------------------------------------------------------------------------------

  @Override
  public void run() {
    byte[] buffer = new byte[READ_BYTES];
    while (selector.isOpen()) {
      Iterator<Session> ready = selector.select();
      turnMillis = System.currentTimeMillis();
      while (ready.hasNext()) {
        Session session = ready.next();
        try {
          session.process(buffer);
        } catch (Throwable e) {
          session.handleException(e);
        }
        if (gatheredCount == GATHERED_MAX) {
          submitGathered();
        }
      }
      submitGathered();
    }
  }

  /** When this turn began, in milliseconds of the day. */
  long turnMillis() {
    return turnMillis;
  }

  /** Has a connection's parsed request submitted after those of the other connections have been parsed. */
  void gather(Connection connection) {
    gathered[gatheredCount++] = connection;
  }

  private void submitGathered() {
    long since = selector.lastWakeupTime();
    nowNanos = 0;
    manyAtOnce = gatheredCount > TIMED_ONE_IN;
    for (int i = 0; i < gatheredCount; i++) {
      Connection connection = gathered[i];
      gathered[i] = null;
      try {
        connection.submitParsed();
      } catch (Throwable e) {
        connection.handleException(e);
      }
      if (replies.keptBytes() > HELD_BYTES_MAX) {
        sendHeld();
      } else if ((i + 1) % REQUESTS_PER_LOOK == 0) {
        long now = System.nanoTime();
        if (now - since > HELD_NANOS_MAX) {
          sendHeld();
          since = now;
        }
      }
    }
    gatheredCount = 0;
    sendHeld();
    while (writes.size() > 0) { // a pipeline's next request may be another write
      doWrites();
      sendHeld();
    }
  }

  /**
   * For how many requests the one that is being submitted is to be timed: for itself and those of its method before it that
   * were not, or for none. Where many are submitted at once, what a clock read several times for each costs would show in
   * the rate, and their times differ little; counted for those that were not timed, they still add up to all.
   */
  int timesFor(Method method) {
    int count = ++untimed[method.ordinal()];
    if (manyAtOnce && count < TIMED_ONE_IN) {
      return 0;
    }
    untimed[method.ordinal()] = 0;
    return count;
  }

  /** The time, in nanoseconds. What the request before ended with is what this one begins with: the clock is read once. */
  long now() {
    long now = nowNanos;
    nowNanos = 0;
    return now == 0 ? System.nanoTime() : now;
  }

  /** Notes the time for whatever comes next; with 0 that it is not known. */
  void isNow(long nanos) {
    nowNanos = nanos;
  }

  /** Notes that a request is being submitted since then, or with 0 none. */
  void submittingSince(long nanos) {
    submittingNanos = nanos;
  }

  /** Whether this thread is submitting the request that it has submitted then: that one has not waited anywhere. */
  boolean isSubmittingSince(long nanos) {
    return submittingNanos == nanos;
  }

  /** Has a reply sent at the end of the turn; its bytes stay as they are until then. */
  void hold(Exchange exchange) {
    if (heldCount == held.length) {
      held = Arrays.copyOf(held, 2 * heldCount);
    }
    held[heldCount++] = exchange;
  }

  /**
   * Has a request's write done with the others of this turn, after which {@link Exchange#written} is called.
   *
   * @throws RuntimeException if no engine would take it; it is not called then
   */
  void write(Exchange exchange) {
    exchange.asked().addTo(writes);
    int count = writes.size();
    if (count > writing.length) {
      writing = Arrays.copyOf(writing, 2 * count);
    }
    writing[count - 1] = exchange;
    if (writes.bytes() > WRITES_BYTES_MAX) {
      doWrites();
    }
  }

  private void doWrites() {
    Throwable failure = null;
    try {
      engine.write(writes);
    } catch (Throwable e) {
      failure = e;
    }
    long now = System.nanoTime();
    for (int i = 0; i < writes.size(); i++) {
      Exchange exchange = writing[i];
      writing[i] = null;
      try {
        exchange.written(this, failure == null ? writes.failure(i) : failure, now);
      } catch (Throwable e) {
        log.error("a write could not be answered", e);
        exchange.abandon(e);
      }
    }
    writes.clear();
  }

  /** Sends replies in the order of their requests, those too that a connection's next pipelined request adds. */
  private void sendHeld() {
    for (int i = 0; i < heldCount; i++) {
      Exchange exchange = held[i];
      held[i] = null;
      try {
        exchange.send(this, null);
      } catch (Throwable e) {
        log.error("a reply could not be sent", e);
        exchange.abandon(e);
      }
    }
    heldCount = 0;
    replies.reuse();
    nowNanos = 0;
  }

  ReplyBuffer replies() {
    return replies;
  }

  Recorder recorder() {
    return recorder;
  }
}
