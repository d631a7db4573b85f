package lsmlab.storage.table;

/**
 * Results of a lookup in one memtable or table. They are numbers, so that a lookup allocates
 * nothing.
 */
public final class Lookup {

  /** No write of the key: search older memtables and tables. */
  public static final int ABSENT = 0;

  /** The value, which was passed to the sink. */
  public static final int FOUND = 1;

  /** A tombstone: the key is absent, whatever older tables hold. */
  public static final int DELETED = 2;

  /** No write of the key, according to the filter; no block was searched. */
  public static final int FILTERED = 3;

  private Lookup() {}
}
