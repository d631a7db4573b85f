package lsmlab.server.variant;

import lsmlab.server.request.Request;

/**
 * The selector thread that parsed the request also executes it and sends the response.
 *
 * <p><b>How a request travels.</b> Socket → selector thread → storage → socket: one thread, no queue, no hand-off. Each
 * request is executed and answered before the next one is parsed.
 *
 * <p><b>What it costs.</b> Nothing but the work itself: no lock, no wake-up, and the request's bytes stay in one CPU's
 * cache. The requests of a selector share no work: each write needs its own WAL write and, with {@code durability:
 * power}, its own sync, unless another selector writes at the same moment and the engine commits both together. All
 * connections of a selector wait while one of its requests waits for the disk or scans a range.
 *
 * <p><b>Where it comes from.</b> The event loop of Redis and nginx.
 */
final class SyncVariant implements Variant {

  static final String SUMMARY =
      "the selector thread runs the request itself; no queue, no hand-off";

  @Override
  public void submit(Request request) {
    request.run();
  }

  @Override
  public void close() {}
}
