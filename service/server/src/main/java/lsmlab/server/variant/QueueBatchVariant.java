package lsmlab.server.variant;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;
import lsmlab.server.request.Request;
import lsmlab.server.variant.queue.RequestQueue;
import lsmlab.server.variant.queue.WorkQueue;
import lsmlab.storage.WriteBatch;

/**
 * Worker threads take up to {@code batch} requests at once from a {@link LinkedBlockingQueue} and write them together.
 *
 * <p><b>How a request travels.</b> Socket → selector thread → queue → a worker, together with the requests that wait
 * behind it → storage → socket. The worker executes the reads, passes all writes to the engine in one call, then sends
 * all responses in the order of the queue. It does not wait for more requests, so at low load a batch is a single
 * request.
 *
 * <p><b>What it costs.</b> The first request of a batch waits for the storage work of the last one, and every read
 * waits for the batch's WAL write. In return, the writes of a batch share one WAL write and, with {@code durability:
 * power}, one sync. The responses are sent together, which wakes a client's CPU only once. Requests that a worker has
 * taken no longer count against {@code queue_capacity}. Everything else is as in {@link QueueVariant}.
 *
 * <p><b>Where it comes from.</b> Group commit: D. J. DeWitt et al., "Implementation Techniques for Main Memory Database
 * Systems", SIGMOD 1984; batching without waiting: A. Belay et al., "IX", OSDI 2014 (adaptive batching).
 */
final class QueueBatchVariant implements Variant {

  static final String SUMMARY =
      "workers take up to `batch` requests at once; one log write serves all writes of a batch";

  private final WorkQueue queue;
  private final List<Batch> batches = new ArrayList<>();
  private final OverloadPolicy overload;
  private final Workers workers;

  QueueBatchVariant(VariantSettings settings) {
    int capacity = settings.queueCapacity();
    RequestQueue requests = RequestQueue.of(new LinkedBlockingQueue<>(capacity), capacity);
    queue = new WorkQueue(requests, settings.workers(), settings.idle());
    overload = new OverloadPolicy(settings);
    WorkQueue work = queue;
    OverloadPolicy policy = overload;
    workers =
        Workers.start(
            settings,
            place -> {
              Batch batch = new Batch(settings.batch(), settings.storage());
              batches.add(batch);
              return () -> {
                int count = work.take(place, batch.requests);
                batch.complete(count, policy);
                return count > 0;
              };
            });
  }

  @Override
  public void submit(Request request) {
    if (!queue.offer(request)) {
      overload.full(request, queue::pollOldest, queue::offer);
    }
  }

  @Override
  public int queueDepth() {
    int inHands = batches.stream().mapToInt(batch -> batch.untouched).sum();
    return queue.size() + inHands;
  }

  @Override
  public int queueCapacity() {
    return queue.capacity();
  }

  @Override
  public void close() {
    queue.close();
    workers.join();
  }

  /** One worker's requests, reused for every batch. */
  private static final class Batch {

    /** The requests taken from the queue; an entry is null once its request was rejected. */
    final Request[] requests;

    /** The requests whose writes are in {@link #writes}, in the same order. */
    private final Request[] writers;

    private final WriteBatch writes = new WriteBatch();

    /** Number of requests that the worker has taken and not begun. Written only by the worker. */
    private volatile int untouched;

    private final Consumer<WriteBatch> storage;

    Batch(int size, Consumer<WriteBatch> storage) {
      requests = new Request[size];
      writers = new Request[size];
      this.storage = storage;
    }

    /** Executes the first {@code count} requests, then sends their responses. */
    void complete(int count, OverloadPolicy overload) {
      assert writes.size() == 0 : "the previous batch has not been written";
      for (int i = 0; i < count; i++) {
        untouched = count - i - 1;
        if (overload.rejectsLate(requests[i])) {
          requests[i] = null;
        } else if (requests[i].kind().isWrite()) {
          add(requests[i]);
        } else {
          requests[i].execute();
        }
      }
      write();
      for (int i = 0; i < count; i++) {
        if (requests[i] != null) {
          requests[i].send();
          requests[i] = null;
        }
      }
    }

    private void add(Request request) {
      int place = writes.size();
      try {
        request.addTo(writes);
        writers[place] = request;
      } catch (RuntimeException e) {
        request.executed(e);
      }
    }

    private void write() {
      if (writes.size() == 0) {
        return;
      }
      Throwable failure = null;
      try {
        storage.accept(writes);
      } catch (Throwable e) {
        failure = e;
      }
      for (int i = 0; i < writes.size(); i++) {
        writers[i].executed(failure == null ? writes.failure(i) : failure);
        writers[i] = null;
      }
      writes.clear();
    }
  }
}
