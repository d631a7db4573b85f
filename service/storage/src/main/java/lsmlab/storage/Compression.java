package lsmlab.storage;

/** The compression of a table's blocks. Each block is compressed on its own. */
public enum Compression {
  /** No compression: a lookup reads the block in the mapped file. */
  NONE,
  /**
   * LZ4, for each block that it makes at least an eighth smaller. Takes less disk space and reads
   * fewer bytes, but each lookup uses more CPU time.
   */
  LZ4
}
