package lsmlab.storage.file;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.random.RandomGenerator;

/**
 * A file of a {@link SimulatedDirectory}, independent of its name: its current bytes, and those of
 * its last sync. Not thread-safe.
 */
final class Inode {

  byte[] bytes = new byte[0];
  int length;
  byte[] synced = new byte[0];

  /** Makes a file whose content is synced. */
  static Inode synced(byte[] content) {
    Inode inode = new Inode();
    inode.bytes = content;
    inode.length = content.length;
    inode.synced = content.clone();
    return inode;
  }

  void write(int at, ByteBuffer from, int count) {
    int end = at + count;
    if (end > bytes.length) {
      bytes = Arrays.copyOf(bytes, Math.max(end, 2 * bytes.length));
    }
    Arrays.fill(bytes, Math.min(length, at), at, (byte) 0);
    from.get(bytes, at, count);
    length = Math.max(length, end);
  }

  byte[] content() {
    return Arrays.copyOf(bytes, length);
  }

  Inode copy() {
    Inode copy = synced(content());
    copy.synced = synced.clone();
    return copy;
  }

  /**
   * Returns what a loss of power leaves: each block is randomly old or new, and so is the length.
   */
  Inode losePower(RandomGenerator random, int blockBytes) {
    byte[] current = content();
    int end =
        switch (random.nextInt(4)) {
          case 0 -> synced.length;
          case 1 -> (synced.length + current.length) / 2;
          default -> current.length;
        };
    if (current.length < synced.length) {
      end = random.nextBoolean() ? synced.length : current.length;
    }
    byte[] kept = Arrays.copyOf(synced, end);
    int lossOfTen = random.nextInt(11);
    for (int at = 0; at < end; at += blockBytes) {
      if (random.nextInt(10) >= lossOfTen) {
        int blockEnd = Math.min(end, Math.min(at + blockBytes, current.length));
        if (blockEnd > at) {
          System.arraycopy(current, at, kept, at, blockEnd - at);
        }
      }
    }
    return synced(kept);
  }
}
