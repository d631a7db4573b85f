package lsmlab.server.variant;

/**
 * The selector thread that parsed the request also runs it and writes the reply.
 *
 * <p><b>How a request travels.</b> Socket → selector thread → storage → socket: one thread, no queue, no hand-off.
 *
 * <p><b>What it costs.</b> Nothing but the work itself: no lock, no wake-up, the request's bytes stay in one CPU's
 * cache. The replies to all connections that were ready together leave together, at the end of the selector's turn, which
 * wakes a client once and not for each; their writes share one record write, and one sync where durability asks for it.
 * But all connections of a selector wait while one of its requests waits for the disk, for a held-back write, or scans:
 * the slowest request sets the tail of all.
 *
 * <p><b>Where it comes from.</b> The event loop of Redis and of nginx; the first server of every course.
 */
final class SyncVariant implements Variant {

  static final String SUMMARY =
      "the selector thread runs the request itself; no queue, no hand-off";

  @Override
  public void submit(Request request) {
    request.run();
  }

  @Override
  public int queueDepth() {
    return 0;
  }

  @Override
  public int queueCapacity() {
    return 0;
  }

  @Override
  public void close() {}
}
