package lsmlab.storage.wal;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.SecureRandom;
import java.util.zip.CRC32C;
import lsmlab.storage.Durability;
import lsmlab.storage.WriteSink;
import lsmlab.storage.event.EventLog;
import lsmlab.storage.file.StoreDirectory;
import lsmlab.storage.file.WritableFile;

/**
 * Writes one log. {@link #put} and {@link #delete} collect records, and {@link #commit} writes them
 * together. If that fails, {@link #rollback} discards them. Used by one thread at a time.
 */
public final class WalWriter implements WriteSink<IOException>, AutoCloseable {

  private static final int PAGE_BYTES = 4096;
  private static final SecureRandom SALT = new SecureRandom();

  private final WritableFile file;
  private final long number;
  private final boolean power;
  private final int roomBytes;
  private final ByteBuffer buffer;
  private final CRC32C crc = new CRC32C();

  /** The key with which record heads are computed, see {@link WalFormat#head}. */
  private long key;

  /** Length of the log after the last commit. */
  private long committed;

  /** Number of bytes that are known to be on the device. */
  private long synced;

  private long syncs;

  /**
   * Length of the file with its preallocated zeros; {@link Long#MAX_VALUE} if preallocation failed.
   */
  private long roomEnd;

  /**
   * Creates the log and writes its first record. Under {@code power} makes both durable.
   *
   * @param buffer direct buffer for records; shared by the logs of a store, because only one is
   *     written at a time
   * @param previous number of the log before this one; 0 if there is none or it is not needed
   * @param previousLength number of bytes of whole records in that log
   * @param roomBytes number of zeros by which a full file is extended, under {@code power} only
   */
  public WalWriter(
      StoreDirectory directory,
      long number,
      Durability durability,
      ByteBuffer buffer,
      long previous,
      long previousLength,
      int roomBytes)
      throws IOException {
    this(
        directory,
        number,
        directory.create(WalFormat.fileName(number)),
        durability,
        buffer,
        previous,
        previousLength,
        roomBytes);
  }

  /**
   * Begins the log in a file that was created in advance.
   *
   * @param file empty file of the log; owned by the writer, and deleted if the log cannot be begun
   */
  public WalWriter(
      StoreDirectory directory,
      long number,
      WritableFile file,
      Durability durability,
      ByteBuffer buffer,
      long previous,
      long previousLength,
      int roomBytes)
      throws IOException {
    this.number = number;
    this.roomBytes = roomBytes;
    this.power = durability == Durability.POWER;
    this.buffer = buffer.clear().order(ByteOrder.LITTLE_ENDIAN);
    this.file = file;
    try {
      long salt = SALT.nextLong();
      key = WalFormat.key(number, 0);
      int start = begin(WalFormat.BEGIN, WalFormat.BEGIN_PAYLOAD_BYTES);
      buffer
          .putInt(WalFormat.VERSION)
          .put((byte) durability.ordinal())
          .putLong(previous)
          .putLong(previousLength)
          .putLong(salt);
      end(start);
      drain();
      key = WalFormat.key(number, salt);
      if (power) {
        makeRoom();
        sync();
        directory.sync();
      }
      committed = file.length();
    } catch (IOException e) {
      // The previous log continues, with the same buffer.
      buffer.clear();
      remove(directory, e);
      throw e;
    }
  }

  /**
   * Deletes the file. A failure to do so must not hide the first error, which may be a failed sync.
   */
  private void remove(StoreDirectory directory, IOException why) {
    try {
      file.close();
      directory.delete(WalFormat.fileName(number));
    } catch (IOException e) {
      why.addSuppressed(e);
    }
  }

  /** Adds a record for a pair. */
  @Override
  public void put(
      byte[] key, int keyOffset, int keyLength, byte[] value, int valueOffset, int valueLength)
      throws IOException {
    collect(WalFormat.PUT, key, keyOffset, keyLength, value, valueOffset, valueLength);
  }

  /** Adds a record for a deletion. */
  @Override
  public void delete(byte[] key, int keyOffset, int keyLength) throws IOException {
    collect(WalFormat.DELETE, key, keyOffset, keyLength, key, 0, 0);
  }

  private void collect(
      byte type,
      byte[] key,
      int keyOffset,
      int keyLength,
      byte[] value,
      int valueOffset,
      int valueLength)
      throws IOException {
    int prefix = type == WalFormat.PUT ? Short.BYTES : 0;
    int payload = prefix + keyLength + valueLength;
    if (buffer.remaining() < WalFormat.HEADER_BYTES + prefix + keyLength) {
      drain();
    }
    int start = begin(type, payload);
    if (type == WalFormat.PUT) {
      buffer.putShort((short) keyLength);
    }
    buffer.put(key, keyOffset, keyLength);
    if (buffer.remaining() >= valueLength) {
      buffer.put(value, valueOffset, valueLength);
      end(start);
      return;
    }
    // Too large for the buffer: compute the checksum first, then write the value piece by piece.
    crc.reset();
    crc.update(
        buffer.duplicate().position(start + WalFormat.HEADER_BYTES).limit(buffer.position()));
    crc.update(value, valueOffset, valueLength);
    putHead(start);
    for (int done = 0; done < valueLength; ) {
      if (!buffer.hasRemaining()) {
        drain();
      }
      int piece = Math.min(buffer.remaining(), valueLength - done);
      buffer.put(value, valueOffset + done, piece);
      done += piece;
    }
  }

  private int begin(byte type, int payload) {
    int start = buffer.position();
    buffer.putInt(0).putInt(0).putInt(payload).put(type);
    return start;
  }

  private void end(int start) {
    crc.reset();
    crc.update(
        buffer.duplicate().position(start + WalFormat.HEADER_BYTES).limit(buffer.position()));
    putHead(start);
  }

  /** Completes the header of the record at {@code start}. Its checksum covers the payload. */
  private void putHead(int start) {
    int payloadCrc = (int) crc.getValue();
    int length = buffer.getInt(start + WalFormat.LENGTH);
    byte type = buffer.get(start + WalFormat.TYPE);
    buffer.putInt(start + WalFormat.CRC, payloadCrc);
    buffer.putInt(start, WalFormat.head(key, file.length() + start, payloadCrc, length, type));
  }

  /**
   * Hands the collected records to the kernel, and under {@code power} syncs them to the device.
   */
  public void commit() throws IOException {
    drain();
    if (power) {
      makeRoom();
      sync();
      noteSynced();
    }
    committed = file.length();
  }

  /**
   * Extends a full file with zeros, unless the disk is full. Syncing bytes that only overwrite
   * others needs no commit of the file system's journal. Such a commit would also wait for tables
   * that are being written.
   */
  private void makeRoom() {
    long length = file.length();
    if (length + WalFormat.SYNCED_BYTES <= roomEnd) {
      return;
    }
    int bytes = roomBytes + (int) (-(length + roomBytes) & PAGE_BYTES - 1);
    try {
      file.pad(bytes);
      roomEnd = length + bytes;
      assert roomEnd % PAGE_BYTES == 0 && roomEnd > length : roomEnd;
    } catch (IOException e) {
      roomEnd = Long.MAX_VALUE;
    }
  }

  /**
   * Records in the log up to which offset it is synced. The record itself is not synced. After a
   * kill it distinguishes damage from a torn end. A loss of power may destroy it, but nothing else
   * is lost with it. If it cannot be written, the log continues without it.
   */
  private void noteSynced() {
    assert buffer.position() == 0 && synced == file.length()
        : "a synced record covers all records before it";
    int start = begin(WalFormat.SYNCED, Long.BYTES);
    buffer.putLong(synced);
    end(start);
    try {
      drain();
    } catch (IOException e) {
      buffer.clear();
    }
  }

  /**
   * Makes the log durable, adds a record that says so, and cuts off the preallocated zeros. No
   * write may follow.
   */
  public void finish() throws IOException {
    drain();
    sync();
    noteSynced();
    sync();
    if (power) {
      file.truncate(file.length());
      file.sync();
    }
    committed = file.length();
  }

  /** Discards the records since the last commit, whether or not they were written. */
  public void rollback() throws IOException {
    assert committed <= file.length() : committed + " of " + file.length();
    buffer.clear();
    file.truncate(committed);
    roomEnd = Math.min(roomEnd, committed);
  }

  /** Makes all written bytes durable. */
  public void sync() throws IOException {
    long start = System.nanoTime();
    file.sync();
    EventLog.walSync(System.nanoTime() - start);
    syncs++;
    assert synced <= file.length() : synced + " of " + file.length();
    synced = file.length();
  }

  private void drain() throws IOException {
    file.write(buffer.flip());
    buffer.clear();
  }

  public long number() {
    return number;
  }

  /** Returns the length of the whole, committed records in bytes. */
  public long length() {
    return committed;
  }

  /**
   * Returns the number of bytes of whole records that must survive a crash: under {@code power} the
   * synced ones, without the {@code synced} record after them.
   */
  public long certainLength() {
    return power ? synced : committed;
  }

  /** Returns the number of bytes that are known to be on the device. */
  public long synced() {
    return synced;
  }

  /** Returns the number of successful syncs. */
  public long syncs() {
    return syncs;
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
