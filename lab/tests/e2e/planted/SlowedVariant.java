package lsmlab.server.variant;

import lsmlab.server.request.Request;

/** Runs requests as {@link SyncVariant} does, each {@value #LATER_NANOS} ns later. */
final class SlowedVariant implements Variant {

  static final String SUMMARY = "as sync, each request 200 µs later; for tests of comparisons";

  private static final long LATER_NANOS = 200_000;

  static SlowedVariant of(VariantSettings settings) {
    return new SlowedVariant();
  }

  @Override
  public void submit(Request request) {
    long start = System.nanoTime();
    while (System.nanoTime() - start < LATER_NANOS) {
      Thread.onSpinWait(); // a thread that sleeps wakes up some 50 µs too late
    }
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
