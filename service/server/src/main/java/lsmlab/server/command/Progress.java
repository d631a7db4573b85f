package lsmlab.server.command;

import java.io.PrintStream;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** Shows the progress of a long operation: on a terminal one line that is overwritten, otherwise one line a second. */
final class Progress implements AutoCloseable {

  private static final long TERMINAL_MILLIS = 100;
  private static final long LOG_MILLIS = 1_000;

  private final PrintStream out;
  private final String what;
  private final long total;
  private final LongSupplier done;
  private final boolean terminal;
  private final long start = System.nanoTime();
  private final CountDownLatch ended = new CountDownLatch(1);
  private final Thread thread = new Thread(this::run, "progress");

  private Progress(PrintStream out, String what, long total, LongSupplier done, boolean terminal) {
    this.out = out;
    this.what = what;
    this.total = total;
    this.done = done;
    this.terminal = terminal;
  }

  /**
   * Starts to report. The caller closes the returned object.
   *
   * @param total number of units of work
   * @param done returns the number of finished units; called by another thread
   */
  static Progress start(PrintStream out, String what, long total, LongSupplier done) {
    // True only if stdin and stdout are terminals too: a redirected run gets plain lines.
    boolean terminal = System.console() != null && System.console().isTerminal();
    Progress progress = new Progress(out, what, total, done, terminal);
    progress.thread.setDaemon(true);
    progress.thread.start();
    return progress;
  }

  private void run() {
    try {
      while (!ended.await(terminal ? TERMINAL_MILLIS : LOG_MILLIS, TimeUnit.MILLISECONDS)) {
        out.print(terminal ? "\r" + line() + "\u001b[K" : line() + "\n");
        out.flush();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private String line() {
    long now = done.getAsLong();
    double seconds = (System.nanoTime() - start) / 1e9;
    return String.format(
        Locale.ROOT,
        "%s: %,d of %,d (%d %%), %.1f s",
        what,
        now,
        total,
        100 * now / Math.max(1, total),
        seconds);
  }

  /** Stops reporting and writes the last line, with the final count. */
  void finished() {
    close();
    out.print((terminal ? "\r" : "") + line() + (terminal ? "\u001b[K\n" : "\n"));
    out.flush();
  }

  @Override
  public void close() {
    ended.countDown();
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
