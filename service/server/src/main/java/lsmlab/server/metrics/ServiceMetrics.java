package lsmlab.server.metrics;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import lsmlab.server.variant.Rejection;

/** The metrics of the data port. Thread-safe. */
public final class ServiceMetrics {

  private final Recorders recorders = new Recorders();
  private final LongAdder[] rejected = new LongAdder[Rejection.values().length];
  private final LongAdder rangesCutOff = new LongAdder();
  private final AtomicInteger connections = new AtomicInteger();

  private volatile boolean requests;

  /** Counts everything. */
  public ServiceMetrics() {
    this(true);
  }

  /**
   * @param requests as for {@link #countRequests}
   */
  public ServiceMetrics(boolean requests) {
    this.requests = requests;
    for (int i = 0; i < rejected.length; i++) {
      rejected[i] = new LongAdder();
    }
  }

  /** Whether requests are counted and timed. */
  public boolean countsRequests() {
    return requests;
  }

  /**
   * Switches counting and timing of requests, from the next one on, so that its cost can be measured within one
   * process.
   */
  public void countRequests(boolean on) {
    requests = on;
  }

  /** Request counters and latencies of this thread. */
  public Recorder recorder() {
    return recorders.current();
  }

  /** Counts a request or connection that was refused. */
  public void reject(Rejection why) {
    rejected[why.ordinal()].increment();
  }

  /** Counts a range that was cut off in its middle because the storage failed or ended the scan. */
  public void rangeCutOff() {
    rangesCutOff.increment();
  }

  /** Connections open now. */
  public AtomicInteger connections() {
    return connections;
  }

  /** Requests and connections refused so far, for all reasons. */
  public long rejections() {
    long sum = 0;
    for (LongAdder adder : rejected) {
      sum += adder.sum();
    }
    return sum;
  }

  Recorders recorders() {
    return recorders;
  }

  /** Ranges that were cut off so far. */
  public long rangesCutOff() {
    return rangesCutOff.sum();
  }

  long rejected(Rejection why) {
    return rejected[why.ordinal()].sum();
  }
}
