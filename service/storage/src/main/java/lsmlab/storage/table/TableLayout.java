package lsmlab.storage.table;

import lsmlab.storage.Compression;
import lsmlab.storage.LsmOptions;

/**
 * The layout of a table.
 *
 * @param blockBytes size at which a block is closed, before compression
 * @param bloomBitsPerKey size of the filter; 0 for none
 * @param compression of the blocks
 */
public record TableLayout(int blockBytes, int bloomBitsPerKey, Compression compression) {

  /** Makes a layout without compression. */
  public TableLayout(int blockBytes, int bloomBitsPerKey) {
    this(blockBytes, bloomBitsPerKey, Compression.NONE);
  }

  /** Returns the layout that the options ask for. */
  public static TableLayout of(LsmOptions options) {
    return new TableLayout(options.blockBytes(), options.bloomBitsPerKey(), options.compression());
  }
}
