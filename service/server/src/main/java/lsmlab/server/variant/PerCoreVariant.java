package lsmlab.server.variant;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import lsmlab.server.request.Request;
import one.nio.server.AcceptorConfig;
import one.nio.server.Server;
import one.nio.server.ServerConfig;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Every selector accepts its own connections and runs their requests itself, so a request never leaves its selector.
 *
 * <p><b>How a request travels.</b> As in {@link SyncVariant}, but connections are assigned to selectors in another way.
 * Each selector has a listening socket ({@code SO_REUSEPORT}), and the kernel chooses among them by a hash of the
 * addresses. In {@code sync} one acceptor assigns each connection to the less loaded of two random selectors.
 *
 * <p><b>What it costs.</b> The kernel ignores the load: with few connections one selector may get most of them while
 * another has none. In return, many new connections are accepted in parallel.
 *
 * <p><b>Pinning.</b> With the library's native transport each selector is pinned to a CPU, if the process may use all
 * CPUs from 0 on. The library counts CPUs from 0, so it would pin threads to CPUs outside a CPU set that begins
 * elsewhere. With Java's sockets the library does not pin threads.
 *
 * <p><b>Where it comes from.</b> {@code SO_REUSEPORT} (T. Herbert, Linux 3.9, 2013); nginx's {@code listen … reuseport},
 * Seastar, Envoy.
 */
final class PerCoreVariant implements Variant {

  static final String SUMMARY =
      "each selector thread accepts its own connections (SO_REUSEPORT) and runs their requests";

  private static final Logger log = LoggerFactory.getLogger(PerCoreVariant.class);

  private static final Path STATUS = Path.of("/proc/self/status");
  private static final String ALLOWED = "Cpus_allowed_list:";

  @Override
  public void configure(ServerConfig config) {
    int cpus = Runtime.getRuntime().availableProcessors();
    int selectors = config.selectors == 0 ? cpus : config.selectors;
    for (AcceptorConfig acceptor : config.acceptors) {
      acceptor.threads = selectors;
      acceptor.reusePort = true;
    }
    config.pinAcceptors = true;
    config.affinity = mayUseFirst(cpus);
  }

  /** Whether this process may use all CPUs from 0 to {@code cpus} − 1. */
  private static boolean mayUseFirst(int cpus) {
    String all = cpus == 1 ? "0" : "0-" + (cpus - 1);
    try {
      return Files.readAllLines(STATUS).stream()
          .filter(line -> line.startsWith(ALLOWED))
          .anyMatch(line -> line.substring(ALLOWED.length()).strip().equals(all));
    } catch (IOException e) {
      log.warn("selectors are not pinned: {} cannot be read: {}", STATUS, e.toString());
      return false;
    }
  }

  @Override
  public void attach(Server server) {
    log.info("{} selectors accept their own connections", server.getSelectorCount());
  }

  @Override
  public void submit(Request request) {
    request.run();
  }

  @Override
  public void close() {}
}
