package lsmlab.storage.textbook;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Iterator;
import java.util.Locale;
import java.util.NoSuchElementException;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.file.Bytes;
import lsmlab.storage.file.StoreDirectory;
import lsmlab.storage.table.BloomFilter;

/**
 * A table, mapped read-only and searched by binary search. The package draws its file. The mapping
 * ends when the garbage collector finds that nobody uses the table any more.
 */
final class MappedTable implements Source {

  /** The version of the format, which the first eight bytes of a file end with. */
  static final int VERSION = 1;

  /** The first eight bytes: LSMTEXT, and the version. */
  static final long MAGIC = 0x54_58_45_54_4D_53_4CL | (long) VERSION << 56;

  static final int COUNT_AT = 8;
  static final int FILTER_BYTES_AT = 16;
  static final int LENGTH_AT = 24;
  static final int HEADER_BYTES = 64;
  static final int RECORD_HEAD_BYTES = 8;
  static final int TOMBSTONE = -1;

  private static final Pattern NAME = Pattern.compile("(\\d{6,18})-(\\d{6,18})\\.sst");

  /**
   * The name of a table's file.
   *
   * @param first number of the first memtable whose pairs the table holds
   * @param last number of the last one
   */
  record Name(long first, long last) {

    /** Returns the name, or null if the file is no table. */
    static Name parse(String file) {
      Matcher matcher = NAME.matcher(file);
      return matcher.matches()
          ? new Name(Long.parseLong(matcher.group(1)), Long.parseLong(matcher.group(2)))
          : null;
    }

    /** Whether this table holds, in a newer state, all that the other one does. */
    boolean replaces(Name other) {
      return !equals(other) && first <= other.first && other.last <= last;
    }

    @Override
    public String toString() {
      return String.format(Locale.ROOT, "%06d-%06d.sst", first, last);
    }
  }

  private final Name name;
  private final MemorySegment file;
  private final long count;
  private final long filterBytes;
  private final long positionsAt;
  private final ReentrantLock lock = new ReentrantLock();

  /** Lookups that the bloom filter answered. */
  private final LongAdder negatives = new LongAdder();

  /** Lookups that the bloom filter let pass though the table does not hold the key. */
  private final LongAdder falsePositives = new LongAdder();

  /**
   * Maps a table.
   *
   * @param bloom whether lookups use the table's bloom filter, if it has one
   * @throws CorruptionException if the file is no table of this version, or was cut short
   */
  MappedTable(StoreDirectory directory, Name name, boolean bloom) throws IOException {
    this.name = name;
    file = directory.map(name.toString(), Arena.ofAuto());
    if (file.byteSize() < HEADER_BYTES || file.get(Bytes.LONG, 0) != MAGIC) {
      throw new CorruptionException(
          directory.describe(name.toString())
              + " is not a table of textbook version "
              + VERSION
              + "; load the dataset again");
    }
    if (file.get(Bytes.LONG, LENGTH_AT) != file.byteSize()) {
      throw new CorruptionException(
          "%s has %d bytes, but its header says %d; restore the store, or load the dataset again"
              .formatted(
                  directory.describe(name.toString()),
                  file.byteSize(),
                  file.get(Bytes.LONG, LENGTH_AT)));
    }
    count = file.get(Bytes.LONG, COUNT_AT);
    long stored = file.get(Bytes.LONG, FILTER_BYTES_AT);
    positionsAt = HEADER_BYTES + stored;
    filterBytes = bloom ? stored : 0;
  }

  Name name() {
    return name;
  }

  long bytes() {
    return file.byteSize();
  }

  long negatives() {
    return negatives.sum();
  }

  long falsePositives() {
    return falsePositives.sum();
  }

  /** Returns the lock that a merging read takes for each step of an iterator. */
  ReentrantLock lock() {
    return lock;
  }

  @Override
  public Entry get(MemorySegment key, long hash) {
    if (filterBytes > 0 && !BloomFilter.mayContain(file, HEADER_BYTES, filterBytes, hash)) {
      negatives.increment();
      return null;
    }
    long index = binarySearch(key);
    if (index >= 0) {
      return entry(index);
    }
    if (filterBytes > 0) {
      falsePositives.increment();
    }
    return null;
  }

  /** Returns the index of a key; if it is absent, -1 minus the index at which it would be. */
  private long binarySearch(MemorySegment key) {
    long low = 0;
    long high = count - 1;
    while (low <= high) {
      long middle = (low + high) >>> 1;
      long at = position(middle);
      int length = file.get(Bytes.INT, at);
      int order = Bytes.compare(file, at + RECORD_HEAD_BYTES, length, key, 0, (int) key.byteSize());
      if (order < 0) {
        low = middle + 1;
      } else if (order > 0) {
        high = middle - 1;
      } else {
        return middle;
      }
    }
    return -1 - low;
  }

  private long position(long index) {
    return file.get(Bytes.LONG, positionsAt + index * Long.BYTES);
  }

  private Entry entry(long index) {
    long at = position(index);
    int keyLength = file.get(Bytes.INT, at);
    int valueLength = file.get(Bytes.INT, at + Integer.BYTES);
    long keyAt = at + RECORD_HEAD_BYTES;
    return new Entry(
        file.asSlice(keyAt, keyLength),
        valueLength == TOMBSTONE ? null : file.asSlice(keyAt + keyLength, valueLength));
  }

  @Override
  public Iterator<Entry> iterator(MemorySegment from, MemorySegment to) {
    return iterator(firstFrom(from), to == null ? count : firstFrom(to));
  }

  /** Returns all entries. */
  Iterator<Entry> iterator() {
    return iterator(0, count);
  }

  private long firstFrom(MemorySegment key) {
    long index = binarySearch(key);
    return index < 0 ? -1 - index : index;
  }

  private Iterator<Entry> iterator(long first, long end) {
    return new Iterator<>() {
      private long index = first;

      @Override
      public boolean hasNext() {
        return index < end;
      }

      @Override
      public Entry next() {
        if (index >= end) {
          throw new NoSuchElementException();
        }
        return entry(index++);
      }
    };
  }
}
