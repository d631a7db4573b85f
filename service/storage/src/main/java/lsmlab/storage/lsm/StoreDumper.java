package lsmlab.storage.lsm;

import java.io.IOException;
import java.io.PrintWriter;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.file.StoreDirectory;
import lsmlab.storage.manifest.Manifest;
import lsmlab.storage.manifest.ManifestDumper;
import lsmlab.storage.table.TableDumper;
import lsmlab.storage.table.TableFormat;
import lsmlab.storage.wal.WalDumper;
import lsmlab.storage.wal.WalFormat;

/**
 * Prints one file of a store as text and marks damage where it occurs. Changes nothing and takes no
 * lock.
 */
public final class StoreDumper {

  private StoreDumper() {}

  /** Whether a file with this name is a table, a WAL or a manifest. */
  public static boolean canDump(String name) {
    return TableFormat.number(name) >= 0
        || WalFormat.number(name) >= 0
        || name.equals(Manifest.NAME)
        || name.equals(Manifest.TEMPORARY_NAME);
  }

  /**
   * Prints the file.
   *
   * @param name a file name that {@link #canDump} accepts
   * @return number of places that are damaged or torn; 0 for a sound file
   * @throws IOException if the file cannot be read
   * @throws CorruptionException if the device cannot read the file
   */
  public static long dump(StoreDirectory directory, String name, PrintWriter out)
      throws IOException {
    try {
      if (TableFormat.number(name) >= 0) {
        return TableDumper.dump(directory, TableFormat.number(name), out);
      }
      if (WalFormat.number(name) >= 0) {
        return WalDumper.dump(directory, WalFormat.number(name), out);
      }
      if (name.equals(Manifest.NAME) || name.equals(Manifest.TEMPORARY_NAME)) {
        return ManifestDumper.dump(directory, name, out);
      }
    } catch (InternalError e) {
      throw new CorruptionException(directory.describe(name) + ": the file cannot be read", e);
    }
    throw new IllegalArgumentException(
        name + " does not have the name of a store's file: NNNNNN.sst, NNNNNN.wal or MANIFEST");
  }
}
