package lsmlab.storage.table;

import lsmlab.storage.Compression;
import lsmlab.storage.LsmOptions;

/**
 * How a table is laid out.
 *
 * @param blockBytes size at which a block is closed, before compression
 * @param bloomBitsPerKey size of the filter; 0 for none
 * @param compression of each block
 */
public record TableLayout(int blockBytes, int bloomBitsPerKey, Compression compression) {

  /** Without compression. */
  public TableLayout(int blockBytes, int bloomBitsPerKey) {
    this(blockBytes, bloomBitsPerKey, Compression.NONE);
  }

  /** The layout that the options ask for. */
  public static TableLayout of(LsmOptions options) {
    return new TableLayout(options.blockBytes(), options.bloomBitsPerKey(), options.compression());
  }
}
