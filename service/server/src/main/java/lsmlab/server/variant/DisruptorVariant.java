package lsmlab.server.variant;

import com.lmax.disruptor.BlockingWaitStrategy;
import com.lmax.disruptor.BusySpinWaitStrategy;
import com.lmax.disruptor.EventHandler;
import com.lmax.disruptor.ExceptionHandler;
import com.lmax.disruptor.RingBuffer;
import com.lmax.disruptor.Sequence;
import com.lmax.disruptor.TimeoutException;
import com.lmax.disruptor.WaitStrategy;
import com.lmax.disruptor.YieldingWaitStrategy;
import com.lmax.disruptor.dsl.Disruptor;
import com.lmax.disruptor.dsl.ProducerType;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import lsmlab.server.request.Rejection;
import lsmlab.server.request.Request;
import lsmlab.server.variant.queue.IdleStrategy;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Worker threads read one ring of requests. With {@code n} workers, each runs every {@code n}-th request.
 *
 * <p><b>How a request travels.</b> Socket → selector thread → a slot of the ring → the worker whose number is the slot's
 * sequence modulo {@code workers} → storage → socket.
 *
 * <p><b>What it costs.</b> No allocation, and one compare-and-set by the selector for each request. No two workers
 * write the same memory. But every worker passes every slot, and a request waits for its own worker even if others are
 * idle. One slow request delays every {@code n}-th request behind it. The ring is full as soon as the slowest worker is
 * {@code queue_capacity} requests behind. That capacity is rounded up to a power of two. {@code idle: park} is the
 * library's blocking strategy, in which a publisher wakes all workers; {@code yield} and {@code spin} are also the
 * library's strategies.
 *
 * <p><b>Where it comes from.</b> M. Thompson et al., "Disruptor: High Performance Alternative to Bounded Queues", LMAX
 * 2011. Version 4 of the library has no worker pool; its authors recommend choosing by sequence instead.
 */
final class DisruptorVariant implements Variant {

  static final String SUMMARY =
      "n workers read an LMAX Disruptor's ring buffer, each every n-th request";

  private static final Logger log = LoggerFactory.getLogger(DisruptorVariant.class);

  private static final long LOOK_NANOS = 1_000_000;

  /** A slot of the ring. */
  private static final class Slot {
    Request request;
  }

  private final Disruptor<Slot> disruptor;
  private final RingBuffer<Slot> ring;
  private final Worker[] workers;
  private final Workers threads;
  private final long closeNanosMax;

  DisruptorVariant(VariantSettings settings) {
    int slots = Integer.highestOneBit(Math.max(2, settings.queueCapacity()) * 2 - 1);
    OverloadPolicy overload = new OverloadPolicy(settings);
    closeNanosMax = settings.closeNanosMax();
    threads = new Workers(settings);
    disruptor =
        new Disruptor<>(
            Slot::new, slots, threads, ProducerType.MULTI, waitStrategy(settings.idle()));
    disruptor.setDefaultExceptionHandler(new Log());
    workers = new Worker[settings.workers()];
    for (int i = 0; i < workers.length; i++) {
      workers[i] = new Worker(i, workers.length, overload);
    }
    disruptor.handleEventsWith(workers);
    ring = disruptor.start();
  }

  private static WaitStrategy waitStrategy(IdleStrategy idle) {
    return switch (idle) {
      case PARK -> new BlockingWaitStrategy();
      case YIELD -> new YieldingWaitStrategy();
      case SPIN -> new BusySpinWaitStrategy();
    };
  }

  /** Runs the requests whose sequence modulo the number of workers is this worker's number. */
  private static final class Worker implements EventHandler<Slot> {
    private final int number;
    private final int workers;
    private final OverloadPolicy overload;

    /** Number of requests that this worker has begun. */
    private final Sequence started = new Sequence(0);

    /** Sequence of the last slot that this worker no longer needs, so that the ring may reuse it. */
    private Sequence progress;

    Worker(int number, int workers, OverloadPolicy overload) {
      this.number = number;
      this.workers = workers;
      this.overload = overload;
    }

    @Override
    public void setSequenceCallback(Sequence sequence) {
      progress = sequence;
    }

    @Override
    public void onEvent(Slot slot, long sequence, boolean endOfBatch) {
      if (sequence % workers == number) {
        Request request = slot.request;
        slot.request = null;
        started.set(started.get() + 1);
        try {
          overload.run(request);
        } finally {
          progress.set(sequence); // frees the slot now, and not at the end of what the worker found
        }
      }
    }
  }

  @Override
  public void submit(Request request) {
    if (!ring.tryPublishEvent(DisruptorVariant::fill, request)) {
      request.reject(Rejection.QUEUE_FULL);
    }
  }

  private static void fill(Slot slot, long sequence, Request request) {
    assert slot.request == null : "the slot's previous request has not been taken";
    slot.request = request;
  }

  @Override
  public int queueDepth() {
    long started = 0;
    for (Worker worker : workers) {
      started += worker.started.get();
    }
    return (int) Math.clamp(ring.getCursor() + 1 - started, 0, ring.getBufferSize());
  }

  @Override
  public int queueCapacity() {
    return ring.getBufferSize();
  }

  @Override
  public void close() {
    long deadline = System.nanoTime() + closeNanosMax;
    // The library waits only for workers that it has seen running; one may have just started.
    while (queueDepth() > 0 && System.nanoTime() - deadline < 0) {
      LockSupport.parkNanos(LOOK_NANOS);
    }
    try {
      disruptor.shutdown(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      disruptor.halt();
    }
    threads.join(deadline);
  }

  /** Logs exceptions of requests. Without this handler the library would end the worker. */
  private static final class Log implements ExceptionHandler<Slot> {
    @Override
    public void handleEventException(Throwable e, long sequence, Slot slot) {
      log.error("a worker continues after an error", e);
    }

    @Override
    public void handleOnStartException(Throwable e) {
      log.error("a worker cannot start", e);
    }

    @Override
    public void handleOnShutdownException(Throwable e) {
      log.error("a worker cannot end", e);
    }
  }
}
