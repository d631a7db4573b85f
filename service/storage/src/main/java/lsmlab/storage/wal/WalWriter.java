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
 * Writes one log. Records are collected with {@link #put} and {@link #delete} and go out together with {@link #commit};
 * if that fails, {@link #rollback} takes them back. One user at a time.
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

  /** See {@link WalFormat#head}. */
  private long key;

  /** Where the last commit ended. */
  private long committed;

  /** What is known to be on the device. */
  private long synced;

  private long syncs;

  /** The file's end, room included; {@link Long#MAX_VALUE} if no more is to be made. */
  private long roomEnd;

  /**
   * Makes the log, and in {@code power} durability makes it durable that it exists.
   *
   * @param buffer for records on their way; direct, shared by the logs of a store as one is written at a time
   * @param previous the log before this one, 0 if there is none that matters
   * @param previousLength bytes of it that count
   * @param roomBytes zeros by which the file is made longer each time it is full, under {@code power} only
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
   * Likewise, of a file that was made ahead.
   *
   * @param file the log's own, empty; taken over, and removed if the log cannot be begun
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
      // The log before this one goes on, with the same buffer.
      buffer.clear();
      remove(directory, e);
      throw e;
    }
  }

  /** Takes the file away; that it cannot be must not hide why, which may be a failed sync. */
  private void remove(StoreDirectory directory, IOException why) {
    try {
      file.close();
      directory.delete(WalFormat.fileName(number));
    } catch (IOException e) {
      why.addSuppressed(e);
    }
  }

  /** Collects a pair. */
  @Override
  public void put(
      byte[] key, int keyOffset, int keyLength, byte[] value, int valueOffset, int valueLength)
      throws IOException {
    collect(WalFormat.PUT, key, keyOffset, keyLength, value, valueOffset, valueLength);
  }

  /** Collects a deletion. */
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
    // Too large for the buffer: the checksum is made first, then the value goes out piece by piece.
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

  /** Completes the header of the record at {@code start}, whose payload {@code crc} covers. */
  private void putHead(int start) {
    int payloadCrc = (int) crc.getValue();
    int length = buffer.getInt(start + WalFormat.LENGTH);
    byte type = buffer.get(start + WalFormat.TYPE);
    buffer.putInt(start + WalFormat.CRC, payloadCrc);
    buffer.putInt(start, WalFormat.head(key, file.length() + start, payloadCrc, length, type));
  }

  /** Hands what was collected to the kernel, and in {@code power} durability to the device. */
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
   * Appends zeros where the file is full: a sync of bytes that only replace others needs no commit of the file system's
   * journal, which would wait for the tables that are being written too. Where there is no room on the disk it is left.
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
   * Notes in the log how far it is known to be on the device. The note is handed to the kernel and not synced: after the
   * death of the process it tells damage from a torn end, and a loss of power that takes it takes nothing else. If it cannot
   * be written, the log goes on without it.
   */
  private void noteSynced() {
    assert buffer.position() == 0 && synced == file.length() : "a note tells of all before it";
    int start = begin(WalFormat.SYNCED, Long.BYTES);
    buffer.putLong(synced);
    end(start);
    try {
      drain();
    } catch (IOException e) {
      buffer.clear();
    }
  }

  /** Makes the log durable, with a last record that says so, and cuts off the room that is left. No write may follow. */
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

  /** Takes back what was collected since the last commit, written or not. */
  public void rollback() throws IOException {
    assert committed <= file.length() : committed + " of " + file.length();
    buffer.clear();
    file.truncate(committed);
    roomEnd = Math.min(roomEnd, committed);
  }

  /** Makes all that was written durable. */
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

  /** Bytes of whole, committed records. */
  public long length() {
    return committed;
  }

  /** Bytes of whole records that must be found: under {@code power} those that were synced, without the note behind them. */
  public long certainLength() {
    return power ? synced : committed;
  }

  /** Bytes known to be on the device. */
  public long synced() {
    return synced;
  }

  /** Calls of sync that succeeded. */
  public long syncs() {
    return syncs;
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
