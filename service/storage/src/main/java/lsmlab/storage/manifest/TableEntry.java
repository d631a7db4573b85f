package lsmlab.storage.manifest;

/**
 * A table as the manifest describes it.
 *
 * @param number number of the table's file
 * @param level level of the table: 0 for flushed tables, whose keys may overlap; tables of the same
 *     level from 1 on do not overlap
 * @param order order of a level-0 table among the others, greater for newer ones: the number of the
 *     WAL from which it was flushed
 * @param bytes size of the file
 */
public record TableEntry(long number, int level, long order, long bytes) {

  /** The deepest level, which holds nearly all pairs. */
  public static final int LEVEL_BOTTOM = 6;
}
