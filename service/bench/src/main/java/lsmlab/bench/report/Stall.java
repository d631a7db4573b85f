package lsmlab.bench.report;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * One operation that took long, and what its thread did meanwhile.
 *
 * @param atSeconds when it began, from the start of its interval
 * @param millis from asking to acknowledgement
 * @param split what that consists of, or null where the system does not tell
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record Stall(
    @JsonProperty("at_s") double atSeconds, @JsonProperty("ms") double millis, Split split) {

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
