package lsmlab.storage;

/** How the blocks of a table are compressed, each by itself. */
public enum Compression {
  /** Not at all: a lookup reads the block where it is mapped. */
  NONE,
  /** LZ4, where it makes a block at least an eighth smaller: less room and less to read, more CPU for each lookup. */
  LZ4
}
