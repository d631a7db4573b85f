package lsmlab.server.command;

import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import lsmlab.server.Service;
import lsmlab.server.config.ConfigException;
import lsmlab.server.config.ConfigFile;
import lsmlab.server.config.Key;
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
    footerHeading = "%nservice.yaml (key: default. Meaning):%n")
public final class ServeCommand implements Callable<Integer> {

  private static final Logger log = LoggerFactory.getLogger(ServeCommand.class);

  private CommandSpec spec;

  @Spec
  void spec(CommandSpec own) {
    spec = own;
    spec.usageMessage()
        .footer(Key.ALL.stream().map(key -> "  " + key.toHelp()).toArray(String[]::new));
  }

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
