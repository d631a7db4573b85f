package lsmlab.storage.manifest;

/**
 * A table as the manifest describes it.
 *
 * @param number of the table's file
 * @param level 0 for flushed tables, whose keys may overlap; tables of a level from 1 on do not
 *     overlap
 * @param order age of a table of level 0, greater for newer ones: the number of the WAL it was
 *     flushed from
 * @param bytes of the file
 */
public record TableEntry(long number, int level, long order, long bytes) {

  /** The deepest level, which holds nearly all pairs. */
  public static final int LEVEL_BOTTOM = 6;
}
