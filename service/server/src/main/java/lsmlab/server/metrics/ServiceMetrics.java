package lsmlab.server.metrics;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import lsmlab.server.request.Rejection;

/** The metrics of the data port. Thread-safe. */
public final class ServiceMetrics {

  private final Recorders recorders = new Recorders();
  private final LongAdder[] rejected = new LongAdder[Rejection.values().length];
  private final LongAdder rangesCutOff = new LongAdder();
  private final AtomicInteger connections = new AtomicInteger();

  private volatile boolean requests;

  /** Creates metrics that count and time requests from the start. */
  public ServiceMetrics() {
    this(true);
  }

  /**
   * @param requests whether requests are counted and timed until {@link #countRequests} is called
   */
  public ServiceMetrics(boolean requests) {
    this.requests = requests;
    for (int i = 0; i < rejected.length; i++) {
      rejected[i] = new LongAdder();
    }
  }

  /** Returns whether requests are counted and timed. */
  public boolean countsRequests() {
    return requests;
  }

  /**
   * Switches the counting and timing of requests on or off, from the next request on, so that its cost can be measured
   * within one process.
   */
  public void countRequests(boolean on) {
    requests = on;
  }

  /** Returns the recorder of this thread. */
  public Recorder recorder() {
    return recorders.current();
  }

  /** Counts a request or connection that was refused. */
  public void reject(Rejection why) {
    rejected[why.ordinal()].increment();
  }

  /** Counts a range that was cut off because the storage failed or ended the scan. */
  public void rangeCutOff() {
    rangesCutOff.increment();
  }

  /** Returns the counter of open connections, which the data port updates. */
  public AtomicInteger connections() {
    return connections;
  }

  Recorders recorders() {
    return recorders;
  }

  /** Returns the number of ranges that were cut off so far. */
  public long rangesCutOff() {
    return rangesCutOff.sum();
  }

  /** Returns the number of requests and connections refused so far for this reason. */
  public long rejected(Rejection why) {
    return rejected[why.ordinal()].sum();
  }
}
