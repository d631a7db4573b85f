package lsmlab.storage.table;

/** What a look-up in one memtable or table can find. Numbers, so that a look-up allocates nothing. */
public final class Lookup {

  /** Nothing: older sources decide. */
  public static final int ABSENT = 0;

  /** The value, which was shown to the sink. */
  public static final int FOUND = 1;

  /** A tombstone: the key is absent whatever older sources hold. */
  public static final int DELETED = 2;

  /** Nothing, and the filter said so without a look at the blocks. */
  public static final int FILTERED = 3;

  private Lookup() {}
}
