package lsmlab.storage.table;

import lsmlab.storage.Compression;
import lsmlab.storage.LsmOptions;

/**
 * The layout of a table.
 *
 * @param blockBytes size at which a block is closed, before compression
 * @param bloomBitsPerKey bits for each key in the bloom filter; 0 for no filter
 * @param compression how the blocks are compressed
 */
public record TableLayout(int blockBytes, int bloomBitsPerKey, Compression compression) {

  /** Makes a layout without compression. */
  public TableLayout(int blockBytes, int bloomBitsPerKey) {
    this(blockBytes, bloomBitsPerKey, Compression.NONE);
  }

  /** Returns the layout that the options specify. */
  public static TableLayout of(LsmOptions options) {
    return new TableLayout(options.blockBytes(), options.bloomBitsPerKey(), options.compression());
  }
}
