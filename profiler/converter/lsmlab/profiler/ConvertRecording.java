package lsmlab.profiler;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import one.convert.Arguments;
import one.convert.Main;
import one.jfr.JfrReader;

/**
 * Runs every conversion of a recording in one JVM: a start of the converter for each output would cost more than
 * the conversions.
 *
 * <p>Arguments: the recording, a file of tasks, the number of tasks to run at a time. Each line of the file is one
 * task: jfrconv's options and the output file, separated by tabs. On stdout: one line {@code setting<TAB>name<TAB>value}
 * for every setting of the recording, {@code duration_ns<TAB>n}, {@code truncated<TAB>true|false}. Exit code 1 and one
 * line on stderr where the recording cannot be read.
 */
public final class ConvertRecording {

  /** Held while a heatmap is made: all heatmaps of a JVM share one object that each changes (one.heatmap.Method.EMPTY). */
  private static final Object HEATMAP = new Object();

  private ConvertRecording() {}

  public static void main(String[] args) throws InterruptedException {
    if (args.length != 3) {
      System.err.println("usage: ConvertRecording RECORDING TASKS PARALLEL");
      System.exit(2);
    }
    try {
      describe(args[0]);
      run(args[0], Files.readAllLines(Path.of(args[1])), Integer.parseInt(args[2]));
    } catch (IOException | RuntimeException e) {
      System.err.println(args[0] + ": " + (e.getMessage() == null ? e : e.getMessage()));
      System.exit(1);
    }
  }

  private static void describe(String recording) throws IOException {
    try (JfrReader jfr = new JfrReader(recording)) {
      while (jfr.readEvent() != null) {
        // settings are collected on the way
      }
      StringBuilder out = new StringBuilder();
      new TreeMap<>(jfr.settings)
          .forEach((name, value) -> out.append("setting\t" + name + "\t" + (value == null ? "" : value) + "\n"));
      out.append("duration_ns\t" + jfr.durationNanos() + "\n");
      out.append("truncated\t" + jfr.incomplete() + "\n");
      System.out.print(out);
      System.out.flush();
    }
  }

  private static void run(String recording, List<String> tasks, int parallel)
      throws IOException, InterruptedException {
    ExecutorService pool = Executors.newFixedThreadPool(parallel);
    try {
      List<Future<Void>> running = new ArrayList<>();
      for (String task : tasks) {
        running.add(
            pool.submit(
                () -> {
                  Arguments arguments = new Arguments(task.split("\t"));
                  if ("heatmap".equals(arguments.output)) {
                    synchronized (HEATMAP) {
                      Main.convert(recording, arguments.files.get(0), arguments);
                    }
                  } else {
                    Main.convert(recording, arguments.files.get(0), arguments);
                  }
                  return null;
                }));
      }
      for (Future<Void> one : running) {
        one.get();
      }
    } catch (ExecutionException e) {
      if (e.getCause() instanceof IOException cause) {
        throw cause;
      }
      throw new IllegalStateException(String.valueOf(e.getCause()), e.getCause());
    } finally {
      pool.shutdownNow();
    }
  }
}
