package lsmlab.storage.concurrent;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

@EnabledOnOs(OS.LINUX)
class CpuPriorityTest {

  @Test
  void aBackgroundThreadHasALowerPriorityThanItsCreator() throws Exception {
    int before = niceOfThisThread();
    CompletableFuture<Integer> nice = new CompletableFuture<>();
    Threads.background("background", () -> nice.complete(niceOfThisThread())).start();
    assertEquals(Math.min(before + 5, 19), nice.get());
    assertEquals(before, niceOfThisThread());
  }

  /**
   * Returns the 19th field of stat, which is the 17th after the name in brackets
   * (proc_pid_stat(5)).
   */
  private static int niceOfThisThread() {
    try {
      String stat = Files.readString(Path.of("/proc/thread-self/stat"));
      return Integer.parseInt(stat.substring(stat.lastIndexOf(')') + 2).split(" ")[16]);
    } catch (java.io.IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }
}
