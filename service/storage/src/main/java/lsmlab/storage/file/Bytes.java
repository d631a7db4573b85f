package lsmlab.storage.file;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/**
 * Reads, compares, hashes and checksums bytes in arrays and segments. All files are little-endian.
 */
public final class Bytes {

  public static final ValueLayout.OfShort SHORT =
      ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  public static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  public static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private static final ValueLayout.OfLong LONG_BIG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
  private static final VarHandle ARRAY_LONG_BIG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
  private static final VarHandle ARRAY_LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  /** Largest slice that is read through a single byte buffer. */
  private static final long SLICE_BYTES_MAX = 1 << 30;

  /** Buffer in which bytes of a mapped file are checksummed, see {@link #update}. */
  private static final ThreadLocal<byte[]> SCRATCH = ThreadLocal.withInitial(() -> new byte[8192]);

  private Bytes() {}

  /** Compares lexicographically by unsigned byte. */
  public static int compare(
      byte[] a, int aOffset, int aLength, MemorySegment b, long bOffset, int bLength) {
    int common = Math.min(aLength, bLength);
    int i = 0;
    for (; i + Long.BYTES <= common; i += Long.BYTES) {
      long x = (long) ARRAY_LONG_BIG.get(a, aOffset + i);
      long y = b.get(LONG_BIG, bOffset + i);
      if (x != y) {
        return Long.compareUnsigned(x, y);
      }
    }
    for (; i < common; i++) {
      int x = a[aOffset + i] & 0xff;
      int y = b.get(ValueLayout.JAVA_BYTE, bOffset + i) & 0xff;
      if (x != y) {
        return x - y;
      }
    }
    return aLength - bLength;
  }

  /** Compares lexicographically by unsigned byte. */
  public static int compare(
      MemorySegment a, long aOffset, int aLength, MemorySegment b, long bOffset, int bLength) {
    int common = Math.min(aLength, bLength);
    int i = 0;
    for (; i + Long.BYTES <= common; i += Long.BYTES) {
      long x = a.get(LONG_BIG, aOffset + i);
      long y = b.get(LONG_BIG, bOffset + i);
      if (x != y) {
        return Long.compareUnsigned(x, y);
      }
    }
    for (; i < common; i++) {
      int x = a.get(ValueLayout.JAVA_BYTE, aOffset + i) & 0xff;
      int y = b.get(ValueLayout.JAVA_BYTE, bOffset + i) & 0xff;
      if (x != y) {
        return x - y;
      }
    }
    return aLength - bLength;
  }

  /**
   * Returns the first bytes, up to eight, as an unsigned big-endian number, padded with zeros on
   * the right. If two prefixes differ, {@link Long#compareUnsigned} orders them as {@link #compare}
   * orders the bytes.
   */
  public static long prefix(byte[] a, int offset, int length) {
    if (length >= Long.BYTES) {
      return (long) ARRAY_LONG_BIG.get(a, offset);
    }
    long prefix = 0;
    for (int i = 0; i < length; i++) {
      prefix |= (a[offset + i] & 0xffL) << (56 - 8 * i);
    }
    return prefix;
  }

  /** Returns the prefix of a slice, as {@link #prefix(byte[], int, int)} does. */
  public static long prefix(MemorySegment segment, long offset, int length) {
    if (length >= Long.BYTES) {
      return segment.get(LONG_BIG, offset);
    }
    if (length > 0 && segment.byteSize() - offset >= Long.BYTES) {
      return segment.get(LONG_BIG, offset) & (-1L << (Long.SIZE - Byte.SIZE * length));
    }
    long prefix = 0;
    for (int i = 0; i < length; i++) {
      prefix |= (segment.get(ValueLayout.JAVA_BYTE, offset + i) & 0xffL) << (56 - 8 * i);
    }
    return prefix;
  }

  /**
   * Returns a 64-bit hash. Each of its bits depends on all input bytes. Multiplies and folds eight
   * bytes at a time, like Wang Yi's wyhash, with other constants.
   */
  public static long hash(byte[] a, int offset, int length) {
    long h = length * 0x9E3779B97F4A7C15L;
    int i = 0;
    for (; i + Long.BYTES <= length; i += Long.BYTES) {
      h = fold(h ^ (long) ARRAY_LONG.get(a, offset + i), 0xD6E8FEB86659FD93L);
    }
    long tail = 0;
    for (int shift = 0; i < length; i++, shift += 8) {
      tail |= (a[offset + i] & 0xffL) << shift;
    }
    return fold(fold(h ^ tail, 0xA0761D6478BD642FL) ^ length, 0xE7037ED1A0B428DBL);
  }

  private static long fold(long a, long b) {
    long mixed = a ^ (a >>> 32);
    return (mixed * b) ^ Math.unsignedMultiplyHigh(mixed, b);
  }

  /** Returns the CRC32C of a slice. */
  public static int crc32c(MemorySegment segment, long offset, long length) {
    CRC32C crc = new CRC32C();
    update(crc, segment, offset, length);
    return (int) crc.getValue();
  }

  /**
   * Adds a slice to a checksum. Copies the bytes of a mapped file to the heap first. A page that
   * cannot be read, because the file was truncated or the device fails, causes a SIGBUS. The JVM
   * turns that into an {@link InternalError} while it copies memory, but dies from it while it
   * computes a checksum.
   */
  public static void update(CRC32C crc, MemorySegment segment, long offset, long length) {
    if (segment.isMapped()) {
      byte[] scratch = SCRATCH.get();
      for (long done = 0; done < length; done += scratch.length) {
        int piece = (int) Math.min(scratch.length, length - done);
        MemorySegment.copy(segment, ValueLayout.JAVA_BYTE, offset + done, scratch, 0, piece);
        crc.update(scratch, 0, piece);
      }
      return;
    }
    for (long done = 0; done < length; done += SLICE_BYTES_MAX) {
      long slice = Math.min(SLICE_BYTES_MAX, length - done);
      crc.update(segment.asSlice(offset + done, slice).asByteBuffer());
    }
  }

  /** Returns the CRC32C of the remaining bytes of a buffer, whose position does not change. */
  public static int crc32c(ByteBuffer bytes) {
    CRC32C crc = new CRC32C();
    crc.update(bytes.duplicate());
    return (int) crc.getValue();
  }
}
