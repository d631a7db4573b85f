package lsmlab.storage.manifest;

/**
 * A table as the manifest names it.
 *
 * @param number of the table's file
 * @param level 0 for tables whose keys may overlap, newest by {@code order}; from 1 on they do not overlap in a level
 * @param order greater for newer tables of level 0: the number of the WAL whose writes are in it
 * @param bytes of the file
 */
public record TableEntry(long number, int level, long order, long bytes) {

  /** The deepest level, which holds nearly everything. */
  public static final int LEVEL_BOTTOM = 6;
}
