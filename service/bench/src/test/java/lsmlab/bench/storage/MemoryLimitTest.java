package lsmlab.bench.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MemoryLimitTest {

  private static final long BYTES = 64L << 20;

  @TempDir Path root;

  private static String ownName() {
    return "lsmlab-bench-" + ProcessHandle.current().pid();
  }

  /** Uses the machine's control groups, if this process may create one. */
  @Test
  void aProcessRunsInTheGroupWhichIsRemovedAfterwards() throws Exception {
    Optional<MemoryLimit> made = MemoryLimit.of(BYTES);
    assumeTrue(made.isPresent(), "no control group can be made here");
    try (MemoryLimit limit = made.get()) {
      String output = run(limit, "cat /proc/self/cgroup");
      assertTrue(output.contains("/" + ownName()), output);
      assertEquals("two words\n", run(limit, "echo 'two words'"));
    }
    String mounted = run(List.of("sh", "-c", "find /sys/fs/cgroup -name " + ownName()));
    assertEquals("", mounted, "left behind");
  }

  @Test
  void theKernelKillsAProcessThatNeedsMoreMemory() throws Exception {
    Optional<MemoryLimit> made = MemoryLimit.of(BYTES);
    assumeTrue(made.isPresent(), "no control group can be made here");
    assumeTrue(Files.readString(Path.of("/proc/swaps")).lines().count() == 1, "there is swap");
    try (MemoryLimit limit = made.get()) {
      String fill = "x=$(head -c %d /dev/zero | tr '\\0' x); echo ${#x}";
      assertEquals("1000000\n", run(limit, fill.formatted(1_000_000)));
      assertFalse(run(limit, fill.formatted(4 * BYTES)).contains(Long.toString(4 * BYTES)));
    }
  }

  @Test
  void bothVersionsOfControlGroupsGetTheLimit() throws IOException {
    assertTrue(MemoryLimit.of(root, BYTES).isPresent());
    Path second = root.resolve(ownName()).resolve("memory.max");
    assertEquals(Long.toString(BYTES), Files.readString(second));
    assertEquals("+memory", Files.readString(root.resolve("cgroup.subtree_control")));

    Files.createDirectory(root.resolve("memory"));
    assertTrue(MemoryLimit.of(root, BYTES).isPresent());
    Path first = root.resolve("memory").resolve(ownName()).resolve("memory.limit_in_bytes");
    assertEquals(Long.toString(BYTES), Files.readString(first));
  }

  @Test
  void aGroupThatCannotBeMadeLeavesNothing() throws IOException {
    Files.createDirectories(root.resolve("cgroup.subtree_control"));
    assertEquals(Optional.empty(), MemoryLimit.of(root, BYTES));
    assertFalse(Files.exists(root.resolve(ownName())));
    assertEquals(Optional.empty(), MemoryLimit.of(root.resolve("not mounted"), BYTES));
    assertFalse(Files.exists(root.resolve("not mounted")));
  }

  private static String run(MemoryLimit limit, String script) throws Exception {
    return run(limit.wrap(List.of("sh", "-c", script)));
  }

  private static String run(List<String> command) throws Exception {
    Process process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertTrue(process.waitFor(60, TimeUnit.SECONDS), "it does not end");
    return output;
  }
}
