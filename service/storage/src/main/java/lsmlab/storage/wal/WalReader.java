package lsmlab.storage.wal;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.Durability;
import lsmlab.storage.file.Bytes;
import lsmlab.storage.file.StoreDirectory;

/**
 * Reads one log after a restart and decides where it ends, by the rules in the package
 * documentation.
 */
public final class WalReader {

  /** Receives the writes of a log in order. A null value is a deletion. */
  @FunctionalInterface
  public interface Handler {
    void write(byte[] key, byte[] value);
  }

  /**
   * Result of reading a log.
   *
   * @param length number of bytes of whole records from the start; 0 if even the {@code begin}
   *     record is not whole
   * @param fileLength size of the file in bytes
   * @param previous number of the log before it; 0 if there is none or it is not needed
   * @param previousLength number of bytes of whole records in that log
   * @param durability durability with which the log was written; null if {@code length} is 0
   */
  public record Result(
      long length, long fileLength, long previous, long previousLength, Durability durability) {

    /** Checks that the records are within the file. */
    public Result {
      assert length >= 0 && length <= fileLength : length + " of " + fileLength;
    }

    /** Whether anything follows the last whole record. */
    public boolean isTorn() {
      return length < fileLength;
    }
  }

  private static final Handler IGNORE = (key, value) -> {};

  private final String file;
  private final long number;
  private final MemorySegment bytes;
  private final long size;

  /**
   * The key with which record heads are computed, see {@link WalFormat#head}. The first record
   * contains the salt from which the key of all others is made.
   */
  private long key;

  private WalReader(String file, long number, MemorySegment bytes) {
    this.file = file;
    this.number = number;
    this.bytes = bytes;
    this.size = bytes.byteSize();
    this.key = WalFormat.key(number, 0);
  }

  /**
   * Reads the log, passes its writes to the handler, and returns where it ends.
   *
   * @param expectedLength length of this log as the next one records it; −1 if there is no next one
   * @throws CorruptionException if an acknowledged write is damaged
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

  /** Reads only the first record, which names the log before this one. */
  public static Result begin(StoreDirectory directory, long number) throws IOException {
    String name = WalFormat.fileName(number);
    try (Arena arena = Arena.ofConfined()) {
      return new WalReader(directory.describe(name), number, directory.map(name, arena)).begin();
    } catch (InternalError e) {
      throw new CorruptionException(directory.describe(name) + ": the file cannot be read", e);
    }
  }

  private Result begin() {
    if (!isWhole(0) || type(0) != WalFormat.BEGIN) {
      checkNeverBegun();
      return new Result(0, size, 0, 0, null);
    }
    long payload = WalFormat.HEADER_BYTES;
    int version = bytes.get(Bytes.INT, payload);
    if (version != WalFormat.VERSION) {
      throw otherVersion(file, version);
    }
    byte durability = bytes.get(ValueLayout.JAVA_BYTE, payload + 4);
    key = WalFormat.key(number, bytes.get(Bytes.LONG, payload + 21));
    return new Result(
        end(0),
        size,
        bytes.get(Bytes.LONG, payload + 5),
        bytes.get(Bytes.LONG, payload + 13),
        durability == Durability.POWER.ordinal() ? Durability.POWER : Durability.PROCESS);
  }

  private static CorruptionException otherVersion(String file, int version) {
    return new CorruptionException(
        "%s: WAL format version %d, this engine reads %d: open the store with the engine that wrote it, or load the data again"
            .formatted(file, version, WalFormat.VERSION));
  }

  /**
   * Checks that a log without a first record was never begun: its first sector is zeros, or its
   * file is too short.
   */
  private void checkNeverBegun() {
    long beginBytes = WalFormat.HEADER_BYTES + (long) WalFormat.BEGIN_PAYLOAD_BYTES;
    if (size < beginBytes || allZero(0, Math.min(size, WalFormat.SECTOR_BYTES))) {
      return;
    }
    // The header of format 1: crc, length, log number, type.
    if (bytes.get(Bytes.LONG, 8) == number
        && bytes.get(ValueLayout.JAVA_BYTE, 16) == WalFormat.BEGIN) {
      throw otherVersion(file, 1);
    }
    throw damaged(0, "it is the first record of the log, which is written in one piece");
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
    if (position > 0 && (position < size || position < expectedLength)) {
      judge(position, synced, expectedLength, begin.durability());
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

  /**
   * Decides whether the log may end at {@code position}, where there is no whole record. Throws if
   * it may not. Takes time linear in the number of bytes that follow: checks for a head at each
   * byte, and reads a payload only after a correct head.
   */
  private void judge(long position, long syncedBefore, long expectedLength, Durability durability) {
    long synced = syncedBefore;
    long firstWhole = -1;
    for (long at = position + 1; at <= size - WalFormat.HEADER_BYTES; ) {
      if (!isWhole(at)) {
        at++;
        continue;
      }
      firstWhole = firstWhole < 0 ? at : firstWhole;
      if (type(at) == WalFormat.SYNCED) {
        synced = Math.max(synced, bytes.get(Bytes.LONG, at + WalFormat.HEADER_BYTES));
      }
      at = end(at);
    }
    if (position < synced) {
      throw damaged(position, "it is below offset " + synced + ", which was synced");
    }
    long gapEnd = firstWhole >= 0 ? firstWhole : size;
    if (lostSector(position, gapEnd)) {
      return;
    }
    if (firstWhole >= 0) {
      throw damaged(position, "whole records follow it");
    }
    if (expectedLength > position && expectedLength <= size) {
      throw damaged(position, "the next log says that this one has " + expectedLength + " bytes");
    }
    // Under power the end was not synced, so it was not acknowledged. Under process every byte that
    // the kernel got is there, unless the file ends within the record.
    if (durability == Durability.PROCESS && !endsBeforeItsRecord(position)) {
      throw damaged(position, "the file continues after it, so it was written completely");
    }
  }

  /**
   * Whether the file ends within the record at {@code position}, because the record was not
   * completely written.
   */
  private boolean endsBeforeItsRecord(long position) {
    return size - position < WalFormat.HEADER_BYTES || (isHead(position) && end(position) > size);
  }

  /**
   * Whether some sector between the two offsets never reached the device: all of its bytes between
   * them are zeros.
   */
  private boolean lostSector(long from, long to) {
    for (long start = from; start < to; ) {
      long end = (start / WalFormat.SECTOR_BYTES + 1) * WalFormat.SECTOR_BYTES;
      if ((end <= to || to == size) && allZero(start, Math.min(end, size))) {
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
        "%s at offset %d: a record is damaged, and %s. Acknowledged writes would be lost: restore the store from a copy"
            .formatted(file, position, why));
  }

  /** Whether a record at {@code position} passes its checks. */
  private boolean isWhole(long position) {
    if (!isHead(position) || end(position) > size) {
      return false;
    }
    int length = bytes.get(Bytes.INT, position + WalFormat.LENGTH);
    return Bytes.crc32c(bytes, position + WalFormat.HEADER_BYTES, length)
        == bytes.get(Bytes.INT, position + WalFormat.CRC);
  }

  /**
   * Whether there is a record header at {@code position}. The payload may be damaged or missing.
   */
  private boolean isHead(long position) {
    if (size - position < WalFormat.HEADER_BYTES) {
      return false;
    }
    int length = bytes.get(Bytes.INT, position + WalFormat.LENGTH);
    int crc = bytes.get(Bytes.INT, position + WalFormat.CRC);
    byte type = bytes.get(ValueLayout.JAVA_BYTE, position + WalFormat.TYPE);
    return length >= 0
        && bytes.get(Bytes.INT, position) == WalFormat.head(key, position, crc, length, type);
  }

  private byte type(long position) {
    return bytes.get(ValueLayout.JAVA_BYTE, position + WalFormat.TYPE);
  }

  /** Returns the offset after the record at {@code position}. */
  private long end(long position) {
    return position + WalFormat.HEADER_BYTES + bytes.get(Bytes.INT, position + WalFormat.LENGTH);
  }

  private byte[] array(long offset, int length) {
    byte[] array = new byte[length];
    MemorySegment.copy(bytes, ValueLayout.JAVA_BYTE, offset, array, 0, length);
    return array;
  }

  /** Checks a log without passing its writes to a handler. */
  public static Result check(StoreDirectory directory, long number, long expectedLength)
      throws IOException {
    return replay(directory, number, expectedLength, IGNORE);
  }
}
