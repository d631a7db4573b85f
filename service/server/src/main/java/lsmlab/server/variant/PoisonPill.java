package lsmlab.server.variant;

import lsmlab.storage.WriteBatch;

/** Handed to a worker in place of a request: tells it to end. Never run. */
final class PoisonPill implements Request {

  static final PoisonPill INSTANCE = new PoisonPill();

  private PoisonPill() {}

  @Override
  public void execute() {
    throw new AssertionError("a marker is not executed");
  }

  @Override
  public void send() {
    throw new AssertionError("a marker is not sent");
  }

  @Override
  public void addTo(WriteBatch batch) {
    throw new AssertionError("a marker is not written");
  }

  @Override
  public void executed(Throwable failure) {
    throw new AssertionError("a marker is not written");
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
