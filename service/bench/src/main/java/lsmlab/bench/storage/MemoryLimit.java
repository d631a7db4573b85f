package lsmlab.bench.storage;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A control group with a memory limit, in which a process can be started. The limit applies to its
 * heap, native memory and page cache together. Needs a writable cgroup file system, version 1 or 2,
 * so usually root.
 */
public final class MemoryLimit implements AutoCloseable {

  private static final Path ROOT = Path.of("/sys/fs/cgroup");
  private static final int REMOVE_TRIES = 50;

  private final Path group;

  private MemoryLimit(Path group) {
    this.group = group;
  }

  /**
   * Makes a group with this limit in bytes. Returns empty if that is impossible. Close the group
   * after its processes have ended.
   */
  public static Optional<MemoryLimit> of(long bytes) {
    return of(ROOT, bytes);
  }

  /** Makes a group in a control group file system that is mounted elsewhere. */
  static Optional<MemoryLimit> of(Path root, long bytes) {
    Path versionOne = root.resolve("memory");
    boolean first = Files.isDirectory(versionOne);
    Path group =
        (first ? versionOne : root).resolve("lsmlab-bench-" + ProcessHandle.current().pid());
    try {
      if (!first) {
        Files.writeString(root.resolve("cgroup.subtree_control"), "+memory");
      }
      Files.createDirectory(group);
      try {
        Files.writeString(
            group.resolve(first ? "memory.limit_in_bytes" : "memory.max"), Long.toString(bytes));
      } catch (IOException e) {
        Files.delete(group); // close() is never called
        throw e;
      }
      return Optional.of(new MemoryLimit(group));
    } catch (IOException e) {
      return Optional.empty();
    }
  }

  /** Returns the command that runs {@code command} inside the group. */
  public List<String> wrap(List<String> command) {
    List<String> wrapped =
        new ArrayList<>(
            List.of(
                "sh",
                "-c",
                "echo $$ > \"$0\" && exec \"$@\"",
                group.resolve("cgroup.procs").toString()));
    wrapped.addAll(command);
    return wrapped;
  }

  /** Removes the group after its last process has ended. */
  @Override
  public void close() throws IOException {
    for (int tries = 1; ; tries++) {
      try {
        Files.deleteIfExists(group);
        return;
      } catch (IOException e) {
        if (tries == REMOVE_TRIES) {
          throw e;
        }
        pause();
      }
    }
  }

  private static void pause() {
    try {
      Thread.sleep(20);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
