package lsmlab.bench.server;

import java.io.IOException;
import java.io.PrintStream;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import lsmlab.bench.harness.Figures;
import one.nio.net.Socket;

/**
 * Measures the cost of a request, from one-nio alone to the whole service, and in each variant. In each round every
 * contestant runs in a new process: GET is warmed up and measured, then PUT.
 */
public final class Ladder {

  private final ServerSettings settings;
  private final PrintStream progress;

  public Ladder(ServerSettings settings, PrintStream progress) {
    this.settings = settings;
    this.progress = progress;
  }

  /** Whether one-nio's native transport works on this machine: it needs glibc 2.38 and libssl 3. */
  public static boolean isTransportNative() {
    System.setProperty("org.slf4j.simpleLogger.log.one.nio.os.NativeLibrary", "off");
    return Socket.USE_NATIVE_SOCKET;
  }

  /** Measures all rungs, the peers and these variants, {@code rounds} times. */
  public Figures measure(List<String> variants, int rounds)
      throws IOException, InterruptedException {
    Figures figures = new Figures(progress);
    List<String> contestants = Contestant.all(variants, isTransportNative());
    figures.measure("ladder", contestants, rounds, name -> measure(Contestant.named(name)));
    return figures;
  }

  private Map<String, Double> measure(Contestant contestant)
      throws IOException, InterruptedException {
    Map<String, Double> values = new LinkedHashMap<>();
    try (ServerProcess server = ServerProcess.start(settings, contestant)) {
      for (String method : List.of("get", "put")) {
        Load.warmUp(settings, server, method);
        Load load = Load.saturate(settings, server, method, progress);
        if (method.equals("get") && contestant.hasValues() != (load.status(404) == 0)) {
          throw new IOException(
              contestant.name() + " answered 404 to " + load.status(404) + " of its GETs");
        }
        values.put(method + "_rate", load.goodput());
        values.put(method + "_cpu", load.cpuMicros());
        values.put(method + "_compiler", load.compilerShare());
      }
    }
    return values;
  }
}
