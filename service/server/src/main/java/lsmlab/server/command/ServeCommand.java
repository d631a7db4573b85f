package lsmlab.server.command;

import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import lsmlab.server.Service;
import lsmlab.server.config.ConfigException;
import lsmlab.server.config.ConfigFile;
import lsmlab.server.config.ServiceConfig;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Serves until SIGTERM or SIGINT. */
@Command(
    name = "serve",
    description = {
      "Serves until SIGTERM, then answers the requests in flight, closes the store and exits with 0; with 1 if that took too long.",
      "Prints one line `ready data=HOST:PORT admin=HOST:PORT` when it accepts requests.",
    },
    mixinStandardHelpOptions = true,
    footerHeading = "%nservice.yaml (key: default, meaning):%n",
    footer = {
      "  data_dir: required. The store's directory, created if it does not exist",
      "  data_host, data_port: 127.0.0.1, 8080. HTTP API; port 0 takes a free one",
      "  admin_host, admin_port: 127.0.0.1, 8081. /metrics, /health, /ready, /config, POST /flush, /compact, /quiesce",
      "  engine: lsm. What stores the pairs; see `engines`",
      "  variant: sync. How requests reach the storage; see `variants`",
      "  selectors: 0. Selector threads; 0 = one per CPU",
      "  workers: 8. Worker threads, for variants that have them",
      "  queue_capacity: 1024. Requests that may wait; further ones get 503",
      "  queue_policy: reject-newest. What happens when the queue is full: reject-newest, drop-oldest or drop-late",
      "  deadline_ms: 1000. Milliseconds that a request may wait, for variants that drop late requests",
      "  idle: park. What idle workers do: park, yield or spin",
      "  batch: 16. Requests that a worker takes at once, for variants that batch",
      "  carriers: 0. Carrier threads of virtual threads; 0 = one per CPU",
      "  refusals_per_second_max: 0. Maximum number of refusals a second; connections pause to stay below it; 0 = no limit",
      "  durability: process. What an acknowledged write survives: process (kill -9) or power (power loss)",
      "  flush_threshold_bytes: 67108864. Size at which a memtable is sealed",
      "  flush_threads: 1. Threads that write memtables to tables",
      "  memtables_max: 4. Sealed memtables that may wait for a flush before writes are held back",
      "  compaction: leveled. How tables are merged: leveled, tiered or off",
      "  level0_tables_max: 4, fanout: 10, block_bytes: 4096, bloom_bits_per_key: 10. Layout of engine lsm",
      "  compression: none. Compression of the blocks of engine lsm: none or lz4",
      "  compaction_bytes_per_second_max: 0. Rate at which compaction writes; 0 = no limit",
      "  max_value_bytes: 1048576. Larger values get 413",
      "  max_connections: 16384. Further connections get 503 and are closed",
    })
public final class ServeCommand implements Callable<Integer> {

  private static final Logger log = LoggerFactory.getLogger(ServeCommand.class);

  @Spec private CommandSpec spec;

  @Option(
      names = "--config",
      required = true,
      paramLabel = "FILE",
      description = "The configuration in YAML; its keys are listed below.")
  private Path config;

  @Override
  public Integer call() throws ConfigException, IOException, InterruptedException {
    ServiceConfig settings = ConfigFile.read(config);
    Service service = Service.start(settings);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(service), "shutdown"));
    spec.commandLine()
        .getOut()
        .printf(
            "ready data=%s:%d admin=%s:%d%n",
            settings.dataHost(), service.dataPort(), settings.adminHost(), service.adminPort());
    spec.commandLine().getOut().flush();
    new CountDownLatch(1).await();
    throw new AssertionError("only the end of the process ends this wait");
  }

  /**
   * Stops the service during the JVM's shutdown. Without this a signal would end the process with exit code 128 + the
   * signal's number.
   */
  private static void stop(Service service) {
    int status = 0;
    try {
      service.close();
    } catch (RuntimeException e) {
      log.error("the service did not stop cleanly", e);
      status = 1;
    }
    System.err.flush();
    Runtime.getRuntime().halt(status);
  }
}
