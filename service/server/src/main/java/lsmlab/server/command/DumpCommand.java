package lsmlab.server.command;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.file.OsStoreDirectory;
import lsmlab.storage.lsm.StoreDumper;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * Prints a file of a store. Exit codes: 0 if it is sound, 1 if it is damaged or unreadable, 2 if there is no such file
 * or its name is not that of a store's file.
 */
@Command(
    name = "dump",
    description = {
      "Prints a table, a WAL or a manifest, one line for each pair or record, and marks damage where it occurs.",
      "The store may be in use, but then its newest WAL may seem torn."
    },
    mixinStandardHelpOptions = true)
public final class DumpCommand implements Callable<Integer> {

  @Spec private CommandSpec spec;

  @Parameters(
      paramLabel = "FILE",
      description = "A file in a store's directory: NNNNNN.sst, NNNNNN.wal or MANIFEST.")
  private Path file;

  @Override
  public Integer call() throws IOException {
    if (!Files.isRegularFile(file)) {
      throw new ParameterException(
          spec.commandLine(),
          file + " is not a file; name one in a store's directory, such as store/MANIFEST");
    }
    String name = file.getFileName().toString();
    if (!StoreDumper.canDump(name)) {
      throw new ParameterException(
          spec.commandLine(),
          file + " does not have the name of a store's file: NNNNNN.sst, NNNNNN.wal or MANIFEST");
    }
    PrintWriter out = spec.commandLine().getOut();
    PrintWriter err = spec.commandLine().getErr();
    Path parent = file.toAbsolutePath().getParent();
    try (OsStoreDirectory directory = new OsStoreDirectory(parent)) {
      long faults = StoreDumper.dump(directory, name, out);
      out.flush();
      if (faults > 0) {
        err.println("damaged: " + file + " at " + faults + (faults == 1 ? " place" : " places"));
      }
      return faults == 0 ? 0 : 1;
    } catch (CorruptionException e) {
      err.println("damaged: " + e.getMessage());
      return 1;
    } finally {
      out.flush();
      err.flush();
    }
  }
}
