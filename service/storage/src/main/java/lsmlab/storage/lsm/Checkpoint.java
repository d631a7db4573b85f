package lsmlab.storage.lsm;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import lsmlab.storage.file.StoreDirectory;
import lsmlab.storage.manifest.Edit;
import lsmlab.storage.manifest.Manifest;
import lsmlab.storage.manifest.TableEntry;
import lsmlab.storage.table.TableFormat;

/**
 * A store of its own that shares the tables of another one, by hard links: tables never change. Its manifest is made last
 * and names all of them and no log, so that what is broken off is not a store.
 */
final class Checkpoint {

  private Checkpoint() {}

  /**
   * Writes the tables of a version into an empty directory, durably.
   *
   * @param version with a reference of the caller's, so that no file of it goes meanwhile
   * @param nextFile greater than every number of a file of the version
   */
  static void write(Version version, StoreDirectory from, StoreDirectory to, long nextFile)
      throws IOException {
    List<TableEntry> entries = new ArrayList<>();
    for (TableSet.Placed placed : version.tables().placed()) {
      from.link(TableFormat.fileName(placed.entry().number()), to);
      entries.add(placed.entry());
    }
    to.sync();
    Edit content = new Edit(nextFile, nextFile, List.of(), entries);
    Manifest.create(to, content, Long.MAX_VALUE).close();
  }
}
