package lsmlab.storage.version;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.function.LongSupplier;

/**
 * Decides whether the tables fit in memory, and tells them to expect misses if they do not.
 * Thread-safe.
 */
public final class MissAdvisor {

  /**
   * Returns the memory of the machine or the container in bytes. Read only when needed, because
   * that takes a cold JVM 100 ms.
   */
  public static final LongSupplier MACHINE = () -> Machine.MEMORY_BYTES;

  private static final class Machine {
    static final long MEMORY_BYTES =
        ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getTotalMemorySize();
  }

  private final VersionSet versions;
  private final LongSupplier memoryBytes;

  /**
   * @param memoryBytes returns the memory that all tables share, in bytes
   */
  public MissAdvisor(VersionSet versions, LongSupplier memoryBytes) {
    this.versions = versions;
    this.memoryBytes = memoryBytes;
  }

  /** Decides again. Called after each change to the tables. */
  public void tablesChanged() {
    Version version = versions.acquire();
    try {
      if (version.tables().bytes() > memoryBytes.getAsLong() / 2) {
        version.tables().placed().forEach(placed -> placed.table().expectMisses());
      }
    } finally {
      VersionSet.releaseQuietly(version);
    }
  }
}
