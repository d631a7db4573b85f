package lsmlab.server.variant;

/** Put into a queue behind all requests, once for each worker: tells one worker to end. Never run. */
final class Stop implements Request {

  static final Stop REQUEST = new Stop();

  private Stop() {}

  /** The request, or null for this one. */
  static Request unlessStop(Request request) {
    return request == REQUEST ? null : request;
  }

  @Override
  public void run() {
    throw new AssertionError("a marker is not run");
  }

  @Override
  public void reject(Rejection why) {
    throw new AssertionError("a marker is not rejected");
  }

  @Override
  public Kind kind() {
    return Kind.GET;
  }

  @Override
  public int keyHash() {
    return 0;
  }

  @Override
  public long arrivedNanos() {
    return Long.MAX_VALUE;
  }
}
