package lsmlab.server.variant;

import java.util.Queue;

/**
 * Worker threads around one queue without locks: what the variants have in common that differ in the queue alone. A
 * worker that finds it empty sleeps in a {@link ParkingLot}; one that leaves something behind wakes another.
 */
abstract class NonBlockingQueueVariant implements Variant {

  private final Queue<Request> queue;
  private final int capacity;
  private final ParkingLot lot;
  private final Limit limit;
  private final Workers workers;
  private volatile boolean closed;

  /**
   * Makes one without threads; {@link #start} starts them.
   *
   * @param queue may be used by any number of threads; its {@code offer} is false when it is full
   */
  NonBlockingQueueVariant(Queue<Request> queue, int capacity, VariantSettings settings) {
    this.queue = queue;
    this.capacity = capacity;
    this.lot = new ParkingLot(settings.workers());
    this.limit = new Limit(settings);
    this.workers = new Workers(limit);
  }

  /** Starts the workers; the last thing a constructor does. */
  final void start(int count) {
    for (int i = 0; i < count; i++) {
      int place = i;
      workers.add(() -> next(place));
    }
  }

  private Request next(int place) {
    while (true) {
      Request request = queue.poll();
      if (request != null) {
        taken();
        if (!queue.isEmpty()) {
          lot.wakeOne();
        }
        return request;
      }
      if (closed && queue.isEmpty()) {
        return null;
      }
      lot.park(place, () -> queue.isEmpty() && !closed);
    }
  }

  /** Adds to the queue; false where it is full. */
  boolean offer(Request request) {
    return queue.offer(request);
  }

  /** A request has been taken out. */
  void taken() {}

  @Override
  public void submit(Request request) {
    if (offer(request)) {
      lot.wakeOne();
    } else {
      limit.full(request, this::takeOldest, this::offerAndWake);
    }
  }

  private Request takeOldest() {
    Request oldest = queue.poll();
    if (oldest != null) {
      taken();
    }
    return oldest;
  }

  private boolean offerAndWake(Request request) {
    boolean accepted = offer(request);
    if (accepted) {
      lot.wakeOne();
    }
    return accepted;
  }

  @Override
  public int queueDepth() {
    return queue.size();
  }

  @Override
  public int queueCapacity() {
    return capacity;
  }

  @Override
  public void close() {
    closed = true;
    lot.wakeAll();
    workers.join();
  }
}
