package lsmlab.storage.lsm;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import lsmlab.storage.file.CheckpointTarget;
import lsmlab.storage.file.StoreDirectory;
import lsmlab.storage.manifest.Edit;
import lsmlab.storage.manifest.Manifest;
import lsmlab.storage.manifest.TableEntry;
import lsmlab.storage.table.TableFormat;
import lsmlab.storage.version.TableSet;
import lsmlab.storage.version.Version;
import lsmlab.storage.version.VersionSet;

/**
 * An independent store that shares the tables of another store through hard links, which is safe
 * because tables never change. Its manifest is written last and names all tables and no log, so an
 * unfinished checkpoint is not a store.
 */
final class Checkpoint {

  private Checkpoint() {}

  /**
   * Makes a checkpoint of the current version in a new directory, which gets its final name when it
   * is complete.
   *
   * @param path path of the new directory
   * @param store path of the store
   * @throws UncheckedIOException if a file cannot be created; nothing is left behind
   */
  static void make(Path path, Path store, StoreDirectory from, VersionSet versions) {
    try (CheckpointTarget target = CheckpointTarget.make(path, store);
        StoreDirectory to = target.directory()) {
      fill(to, from, versions);
      target.finish();
    } catch (IOException e) {
      throw new UncheckedIOException(
          "the checkpoint " + path + " cannot be created: " + e.getMessage(), e);
    }
  }

  /**
   * Links the current version's tables into an empty directory and writes a manifest there,
   * durably.
   */
  static void fill(StoreDirectory to, StoreDirectory from, VersionSet versions) throws IOException {
    Version version = versions.acquire();
    try {
      // Read after the version was acquired, so that it is greater than every number in it.
      write(version, from, to, versions.nextFile());
    } finally {
      VersionSet.releaseQuietly(version);
    }
  }

  private static void write(Version version, StoreDirectory from, StoreDirectory to, long nextFile)
      throws IOException {
    List<TableEntry> entries = new ArrayList<>();
    for (TableSet.Placed placed : version.tables().placed()) {
      assert placed.entry().number() < nextFile : "table " + placed.entry().number();
      from.link(TableFormat.fileName(placed.entry().number()), to);
      entries.add(placed.entry());
    }
    to.sync();
    Edit content = new Edit(nextFile, nextFile, List.of(), entries);
    Manifest.create(to, content, Long.MAX_VALUE).close();
  }
}
