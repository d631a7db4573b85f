package lsmlab.bench.report;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * One operation that took long, and what its thread did meanwhile.
 *
 * @param atSeconds when it began, from the start of its interval
 * @param clockNanos the same by {@link System#nanoTime}, which on Linux is one clock for all processes
 * @param millis from asking to acknowledgement
 * @param stoppedMillis for how much of that no CPU could be had, see {@link MachineStops}, or null where nobody
 *     watched
 * @param split what it consists of, or null where the system does not tell
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record Stall(
    @JsonProperty("at_s") double atSeconds,
    @JsonProperty("clock_ns") long clockNanos,
    @JsonProperty("ms") double millis,
    @JsonProperty("stopped_ms") Double stoppedMillis,
    Split split) {

  /** The same beside a watch of the machine. */
  public Stall beside(MachineStops stops) {
    long end = clockNanos + (long) (1e6 * millis);
    return new Stall(atSeconds, clockNanos, millis, stops.millisWithin(clockNanos, end), split);
  }

  /** Milliseconds of it while the machine ran, as far as somebody watched. */
  @JsonIgnore
  public double runningMillis() {
    return stoppedMillis == null ? millis : millis - stoppedMillis;
  }

  /**
   * Milliseconds, together the stall's. What the kernel does in the thread's own context, page faults and interrupts that hit
   * it among them, is on the CPU.
   *
   * @param onCpu running; time that the host took away is left out where the kernel knows of it
   * @param waiting for a CPU, able to run
   * @param asleep the rest, if the thread fell asleep in it (a lock, a file system, a pause); what the host took away cannot be
   *     told from that
   * @param stolen the rest, if it never slept: nothing in this machine accounts for it, so the host took it away
   * @param sleeps how many times it fell asleep (voluntary context switches)
   * @param preemptions how many times it lost the CPU (involuntary ones)
   * @param faults pages it touched that had to be mapped first, without input or output
   */
  public record Split(
      @JsonProperty("on_cpu_ms") double onCpu,
      @JsonProperty("waiting_ms") double waiting,
      @JsonProperty("asleep_ms") double asleep,
      @JsonProperty("stolen_ms") double stolen,
      long sleeps,
      long preemptions,
      long faults) {}
}
