package lsmlab.server.command;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.file.OsStoreDirectory;
import lsmlab.storage.lsm.StoreVerifier;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * Checks a closed store and changes nothing. Exit codes: 0 if it is sound, 1 if it is damaged, 2 if it could not be
 * checked: it is not a store, it is open, or it cannot be read.
 */
@Command(
    name = "verify",
    description = "Checks every checksum and the order of every table of a closed store.",
    mixinStandardHelpOptions = true)
public final class VerifyCommand implements Callable<Integer> {

  @Spec private CommandSpec spec;

  @Option(names = "--dir", required = true, description = "The store; it must be closed.")
  private Path dir;

  @Override
  public Integer call() {
    if (!Files.isDirectory(dir)) {
      throw new ParameterException(spec.commandLine(), "--dir: " + dir + " is not a directory");
    }
    PrintWriter out = spec.commandLine().getOut();
    PrintWriter err = spec.commandLine().getErr();
    try (OsStoreDirectory directory = new OsStoreDirectory(dir)) {
      StoreVerifier.Report report =
          StoreVerifier.verify(directory, file -> err.println("verify: " + file));
      out.printf(
          "sound: %d tables with %d entries in %d bytes, %d logs with %d bytes%n",
          report.tables(), report.entries(), report.tableBytes(), report.logs(), report.logBytes());
      return 0;
    } catch (CorruptionException e) {
      err.println("damaged: " + e.getMessage());
      return 1;
    } catch (IOException e) {
      err.println("not checked: " + e.getMessage() + reason(e));
      return 2;
    } finally {
      out.flush();
      err.flush();
    }
  }

  /** Returns the reason for errors whose message is only a path. */
  private static String reason(IOException e) {
    return switch (e) {
      case AccessDeniedException denied -> ": permission denied: use an account that may read it";
      case NoSuchFileException missing -> ": no such file";
      default -> "";
    };
  }
}
