package lsmlab.storage.table;

/**
 * Results of a lookup in one memtable or table. They are ints, so that a lookup allocates nothing.
 */
public final class Lookup {

  /** The table holds no write of the key: search older memtables and tables. */
  public static final int ABSENT = 0;

  /** The value was found and passed to the sink. */
  public static final int FOUND = 1;

  /** A tombstone was found: the key is absent, whatever older tables hold. */
  public static final int DELETED = 2;

  /** The filter ruled the key out; no block was searched. */
  public static final int FILTERED = 3;

  private Lookup() {}
}
