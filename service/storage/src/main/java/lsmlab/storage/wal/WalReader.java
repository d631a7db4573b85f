package lsmlab.storage.wal;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.Durability;
import lsmlab.storage.file.Bytes;
import lsmlab.storage.file.StoreDirectory;

/** Reads one log after a restart and decides where it ends; the rules are in the package's documentation. */
public final class WalReader {

  /** Receives the writes of a log in their order. A null value is a deletion. */
  @FunctionalInterface
  public interface Handler {
    void write(byte[] key, byte[] value);
  }

  /**
   * What a log was found to be.
   *
   * @param length bytes of whole records from the start; 0 if not even {@code begin} is whole
   * @param fileLength bytes of the file
   * @param previous the log before it, 0 if there is none that matters
   * @param previousLength bytes of that one that count
   * @param durability under which the log was written; null if {@code length} is 0
   */
  public record Result(
      long length, long fileLength, long previous, long previousLength, Durability durability) {

    /** Whether something follows the last whole record. */
    public boolean isTorn() {
      return length < fileLength;
    }
  }

  private static final long PAGE_BYTES = 4096;
  private static final Handler IGNORE = (key, value) -> {};

  private final String file;
  private final long number;
  private final MemorySegment bytes;
  private final long size;

  private WalReader(String file, long number, MemorySegment bytes) {
    this.file = file;
    this.number = number;
    this.bytes = bytes;
    this.size = bytes.byteSize();
  }

  /**
   * Reads the log, writes to the handler, and tells where it ends.
   *
   * @param expectedLength what the next log says of this one's length, or −1 if there is no next one
   * @throws CorruptionException if something acknowledged is damaged
   */
  public static Result replay(
      StoreDirectory directory, long number, long expectedLength, Handler handler)
      throws IOException {
    String name = WalFormat.fileName(number);
    try (Arena arena = Arena.ofConfined()) {
      return new WalReader(directory.describe(name), number, directory.map(name, arena))
          .replay(expectedLength, handler);
    } catch (InternalError e) {
      throw new CorruptionException(directory.describe(name) + ": the file cannot be read", e);
    }
  }

  /** What the log says of the one before it; nothing is checked beyond its first record. */
  public static Result begin(StoreDirectory directory, long number) throws IOException {
    String name = WalFormat.fileName(number);
    try (Arena arena = Arena.ofConfined()) {
      return new WalReader(directory.describe(name), number, directory.map(name, arena)).begin();
    }
  }

  private Result begin() {
    if (!isWhole(0) || bytes.get(ValueLayout.JAVA_BYTE, WalFormat.TYPE) != WalFormat.BEGIN) {
      return new Result(0, size, 0, 0, null);
    }
    int version = bytes.get(Bytes.INT, WalFormat.HEADER_BYTES);
    if (version != WalFormat.VERSION) {
      throw new CorruptionException(
          file + ": WAL format version " + version + ", this engine reads " + WalFormat.VERSION);
    }
    byte durability = bytes.get(ValueLayout.JAVA_BYTE, WalFormat.HEADER_BYTES + 4);
    return new Result(
        end(0),
        size,
        bytes.get(Bytes.LONG, WalFormat.HEADER_BYTES + 5),
        bytes.get(Bytes.LONG, WalFormat.HEADER_BYTES + 13),
        durability == Durability.POWER.ordinal() ? Durability.POWER : Durability.PROCESS);
  }

  private Result replay(long expectedLength, Handler handler) {
    Result begin = begin();
    long position = begin.length();
    long synced = 0;
    while (position > 0 && position < size && isWhole(position)) {
      if (type(position) == WalFormat.SYNCED) {
        synced = Math.max(synced, bytes.get(Bytes.LONG, position + WalFormat.HEADER_BYTES));
      } else {
        deliver(position, handler);
      }
      position = end(position);
    }
    if (position < size || position < expectedLength) {
      judge(position, synced, expectedLength);
    }
    return new Result(position, size, begin.previous(), begin.previousLength(), begin.durability());
  }

  private void deliver(long position, Handler handler) {
    long payload = position + WalFormat.HEADER_BYTES;
    int length = bytes.get(Bytes.INT, position + WalFormat.LENGTH);
    switch (type(position)) {
      case WalFormat.PUT -> {
        int keyLength = bytes.get(Bytes.SHORT, payload) & 0xffff;
        handler.write(
            array(payload + Short.BYTES, keyLength),
            array(payload + Short.BYTES + keyLength, length - Short.BYTES - keyLength));
      }
      case WalFormat.DELETE -> handler.write(array(payload, length), null);
      default ->
          throw new CorruptionException(
              "%s at offset %d: a record of unknown type %d"
                  .formatted(file, position, type(position)));
    }
  }

  /** Decides whether the log may end at {@code position} although more was expected; throws if not. */
  private void judge(long position, long syncedBefore, long expectedLength) {
    long synced = syncedBefore;
    long firstWhole = -1;
    for (long at = position + 1; at <= size - WalFormat.HEADER_BYTES; at++) {
      if (bytes.get(Bytes.LONG, at + WalFormat.LOG) == number && isWhole(at)) {
        firstWhole = firstWhole < 0 ? at : firstWhole;
        if (type(at) == WalFormat.SYNCED) {
          synced = Math.max(synced, bytes.get(Bytes.LONG, at + WalFormat.HEADER_BYTES));
        }
      }
    }
    if (position < synced) {
      throw damaged(position, "it is below offset " + synced + ", which was synced");
    }
    long gapEnd = firstWhole >= 0 ? firstWhole : Math.min(size, expectedLength);
    boolean moreFollowed = firstWhole >= 0 || expectedLength > position;
    boolean endLost = expectedLength > size;
    if (moreFollowed && !endLost && !looksLikeLostPages(position, gapEnd)) {
      throw damaged(position, "whole records follow it");
    }
  }

  /** Whether the rest of the first page, or any whole page of the gap, is zeros. */
  private boolean looksLikeLostPages(long from, long to) {
    for (long start = from; start < to; ) {
      long end = Math.min(size, (start / PAGE_BYTES + 1) * PAGE_BYTES);
      if (end <= to && allZero(start, end)) {
        return true;
      }
      start = end;
    }
    return false;
  }

  private boolean allZero(long from, long to) {
    for (long at = from; at < to; at++) {
      if (bytes.get(ValueLayout.JAVA_BYTE, at) != 0) {
        return false;
      }
    }
    return true;
  }

  private CorruptionException damaged(long position, String why) {
    return new CorruptionException(
        "%s at offset %d: a record is damaged, and %s. Something acknowledged would be lost: restore the store from a copy"
            .formatted(file, position, why));
  }

  private boolean isWhole(long position) {
    return isWhole(bytes, position, number);
  }

  /** Whether a record of log {@code number} that passes its checksum is there. */
  static boolean isWhole(MemorySegment bytes, long position, long number) {
    long room = bytes.byteSize() - position - WalFormat.HEADER_BYTES;
    if (room < 0) {
      return false;
    }
    int length = bytes.get(Bytes.INT, position + WalFormat.LENGTH);
    if (length < 0 || length > room || bytes.get(Bytes.LONG, position + WalFormat.LOG) != number) {
      return false;
    }
    long covered = WalFormat.HEADER_BYTES - WalFormat.LENGTH + (long) length;
    return Bytes.crc32c(bytes, position + WalFormat.LENGTH, covered)
        == bytes.get(Bytes.INT, position);
  }

  private byte type(long position) {
    return bytes.get(ValueLayout.JAVA_BYTE, position + WalFormat.TYPE);
  }

  private long end(long position) {
    return end(bytes, position);
  }

  /** Where the record after the one at {@code position} begins. */
  static long end(MemorySegment bytes, long position) {
    return position + WalFormat.HEADER_BYTES + bytes.get(Bytes.INT, position + WalFormat.LENGTH);
  }

  private byte[] array(long offset, int length) {
    byte[] array = new byte[length];
    MemorySegment.copy(bytes, ValueLayout.JAVA_BYTE, offset, array, 0, length);
    return array;
  }

  /** Checks a log without delivering it. */
  public static Result check(StoreDirectory directory, long number, long expectedLength)
      throws IOException {
    return replay(directory, number, expectedLength, IGNORE);
  }
}
