package lsmlab.bench.storage;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** Copies, deletes and measures stores as files. */
public final class Stores {

  private Stores() {}

  /** Returns the total length of all files. Files that are deleted meanwhile count as 0. */
  public static long bytes(Path store) {
    long bytes = 0;
    for (Path file : files(store)) {
      try {
        bytes += Files.isRegularFile(file) ? Files.size(file) : 0;
      } catch (NoSuchFileException e) {
        continue;
      } catch (IOException e) {
        throw new UncheckedIOException("cannot read the size of " + file, e);
      }
    }
    return bytes;
  }

  /** The files of a store that nobody writes to. */
  static List<Path> regularFiles(Path store) {
    return files(store).stream().filter(Files::isRegularFile).toList();
  }

  /** Drops a synced file from the kernel's page cache, by dd of coreutils. */
  static void dropFromPageCache(Path file) throws IOException, InterruptedException {
    List<String> command = List.of("dd", "if=" + file, "iflag=nocache", "count=0", "status=none");
    if (new ProcessBuilder(command).inheritIO().start().waitFor() != 0) {
      throw new IOException("cannot drop " + file + " from the page cache");
    }
  }

  /**
   * Returns the bytes that this process has passed to write calls so far ({@code wchar} in
   * proc_pid_io(5)).
   */
  static long bytesWrittenByThisProcess() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/io"))) {
      if (line.startsWith("wchar: ")) {
        return Long.parseLong(line.substring("wchar: ".length()));
      }
    }
    throw new IOException("/proc/self/io has no line 'wchar'");
  }

  /** Copies a closed store. */
  public static void copy(Path from, Path to) throws IOException {
    for (Path file : files(from)) {
      Files.copy(file, to.resolve(from.relativize(file).toString()));
    }
  }

  /** Returns the files of a directory whose names have this suffix. */
  public static List<Path> list(Path directory, String end) throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return files.filter(file -> file.toString().endsWith(end)).toList();
    }
  }

  /** Deletes a store if it exists. */
  public static void delete(Path store) throws IOException {
    if (Files.exists(store)) {
      for (Path file : files(store).stream().sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }

  private static List<Path> files(Path store) {
    try (Stream<Path> files = Files.walk(store)) {
      return files.toList();
    } catch (NoSuchFileException e) {
      return List.of();
    } catch (IOException e) {
      throw new UncheckedIOException("cannot list " + store, e);
    } catch (UncheckedIOException e) {
      if (e.getCause() instanceof NoSuchFileException) {
        return files(store); // a file vanished while the engine is at work
      }
      throw e;
    }
  }
}
