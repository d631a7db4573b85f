package lsmlab.storage;

/** How the blocks of a table are compressed. Each block is compressed on its own. */
public enum Compression {
  /** No compression: a lookup reads the block in the mapped file. */
  NONE,
  /**
   * LZ4, if it makes a block at least an eighth smaller: less disk space and less to read, more CPU
   * time for each lookup.
   */
  LZ4
}
