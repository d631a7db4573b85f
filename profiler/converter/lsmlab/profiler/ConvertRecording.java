package lsmlab.profiler;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import one.convert.Arguments;
import one.convert.JfrToHeatmap;
import one.convert.JfrToPprof;
import one.jfr.JfrReader;
import one.jfr.event.CPULoad;
import one.jfr.event.Event;

/**
 * Runs every conversion of a recording in one JVM, because starting a JVM for each output would take longer than the
 * conversions.
 *
 * <p>Arguments: the recording, a file of tasks, the number of tasks to run at a time. Each line of the file is one
 * task, its words separated by tabs: {@code samples BASE FOLD OPTION…} (see {@link SampleTable#write}),
 * {@code heatmap FILE OPTION…} or {@code pprof FILE OPTION…}, with jfrconv's options.
 *
 * <p>Prints one fact a line: {@code setting<TAB>name<TAB>value} for every setting of the recording,
 * {@code start_ns<TAB>n} since 1970, {@code duration_ns<TAB>n}, {@code cpu_s<TAB>x}, the CPU time of the service during
 * the recording, and {@code truncated<TAB>true|false}. If the recording cannot be read, prints one line on stderr and
 * exits with code 1.
 */
public final class ConvertRecording {

  /** Held while a heatmap is made: all heatmaps of a JVM modify one shared object (one.heatmap.Method.EMPTY). */
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

  /** The event jdk.CPUInformation, for which async-profiler's reader has no class. */
  public static final class CpuInformation extends Event {
    final int threads;

    /** Reads the fields in the order in which async-profiler declares them. */
    public CpuInformation(JfrReader jfr) {
      super(jfr.getVarlong(), 0, 0);
      jfr.getString();
      jfr.getString();
      jfr.getVarint();
      jfr.getVarint();
      threads = jfr.getVarint();
    }
  }

  private static void describe(String recording) throws IOException {
    try (JfrReader jfr = new RecordingReader(recording)) {
      jfr.registerEvent("jdk.CPUInformation", CpuInformation.class);
      int cpus = 0;
      double busy = 0;
      long before = jfr.startNanos;
      for (Event event; (event = jfr.readEvent()) != null; ) {
        if (event instanceof CpuInformation information) {
          cpus = information.threads;
        } else if (event instanceof CPULoad load) {
          long now = jfr.eventTimeToNanos(load.time);
          busy += (load.jvmUser + load.jvmSystem) * Math.max(0, now - before) / 1e9;
          before = now;
        }
      }
      StringBuilder out = new StringBuilder();
      new TreeMap<>(jfr.settings)
          .forEach((name, value) -> out.append("setting\t" + name + "\t" + (value == null ? "" : value) + "\n"));
      out.append("start_ns\t" + jfr.startNanos + "\n");
      out.append("duration_ns\t" + jfr.durationNanos() + "\n");
      out.append("cpu_s\t" + busy * cpus + "\n");
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
                  run(recording, task.split("\t", -1));
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
      if (e.getCause() instanceof Error error) {
        throw error;
      }
      throw new IllegalStateException(String.valueOf(e.getCause()), e.getCause());
    } finally {
      pool.shutdownNow();
    }
  }

  private static void run(String recording, String[] words) throws IOException {
    switch (words[0]) {
      case "samples" ->
          SampleTable.write(recording, words[1], words[2], Arrays.copyOfRange(words, 3, words.length));
      case "heatmap" -> {
        synchronized (HEATMAP) {
          try (JfrReader jfr = new RecordingReader(recording); OutputStream out = create(words[1])) {
            JfrToHeatmap heatmap = new JfrToHeatmap(jfr, options(words));
            heatmap.convert();
            heatmap.dump(out);
          }
        }
      }
      default -> {
        try (JfrReader jfr = new RecordingReader(recording); OutputStream out = create(words[1])) {
          JfrToPprof pprof = new JfrToPprof(jfr, options(words));
          pprof.convert();
          pprof.dump(out);
        }
      }
    }
  }

  private static Arguments options(String[] words) {
    return new Arguments(Arrays.copyOfRange(words, 2, words.length));
  }

  private static OutputStream create(String file) throws IOException {
    return new BufferedOutputStream(Files.newOutputStream(Path.of(file)));
  }
}
