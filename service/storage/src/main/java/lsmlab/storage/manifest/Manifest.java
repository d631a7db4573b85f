package lsmlab.storage.manifest;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.ValueSink;
import lsmlab.storage.file.Bytes;
import lsmlab.storage.file.StoreDirectory;
import lsmlab.storage.file.SyncFailedException;
import lsmlab.storage.file.WritableFile;

/**
 * Reads and writes the manifest. Not thread-safe: the caller holds a lock while it changes the
 * tables.
 */
public final class Manifest implements AutoCloseable {

  public static final String NAME = "MANIFEST";

  /**
   * Name of a rewritten manifest before it replaces the old one. After a crash such a file is
   * ignored.
   */
  public static final String TEMPORARY_NAME = "MANIFEST.tmp";

  /** The bytes "LSMLABMF". Must never change. */
  static final long MAGIC = 0x464D42414C4D534CL;

  private static final int VERSION = 2;
  private static final int HEADER_BYTES = 9;
  static final byte SNAPSHOT = 1;
  static final byte EDIT = 2;
  static final byte SYNCED = 3;

  private final StoreDirectory directory;
  private final long rewriteBytes;
  private final Map<Long, TableEntry> tables = new TreeMap<>();

  private long nextFile = 1;
  private long firstLog = 1;
  private LogEntry durableLog = LogEntry.NONE;

  /** Length of the whole records that were read. */
  private long length;

  /** Null until {@link #beginAppending}. */
  private WritableFile file;

  private SyncFailedException failure;

  private Manifest(StoreDirectory directory, long rewriteBytes) {
    this.directory = directory;
    this.rewriteBytes = rewriteBytes;
  }

  /** Creates the manifest of a new store with this content, durably. */
  public static Manifest create(StoreDirectory directory, Edit content, long rewriteBytes)
      throws IOException {
    Manifest manifest = new Manifest(directory, rewriteBytes);
    manifest.apply(content);
    manifest.rewrite();
    return manifest;
  }

  /**
   * Reads an existing manifest. Changes nothing, not even a torn end.
   *
   * @param rewriteBytes length in bytes at which the manifest is rewritten
   * @throws CorruptionException if it is damaged
   */
  public static Manifest read(StoreDirectory directory, long rewriteBytes) throws IOException {
    Manifest manifest = new Manifest(directory, rewriteBytes);
    manifest.length = manifest.read();
    return manifest;
  }

  /** Reads an existing manifest that will not be changed. */
  public static Manifest read(StoreDirectory directory) throws IOException {
    return read(directory, Long.MAX_VALUE);
  }

  /** Truncates a torn end of a manifest that was read. Allows changes from now on. */
  public void beginAppending() throws IOException {
    if (file == null) {
      file = directory.openAt(NAME, length);
      file.sync();
    }
  }

  private long read() throws IOException {
    ByteBuffer in;
    try {
      in = content(directory, NAME);
    } catch (InternalError e) {
      throw corrupt(0, "it cannot be read", e);
    }
    int position = 0;
    long synced = 0;
    while (isWhole(in, position)) {
      ByteBuffer payload = payload(in, position);
      byte type = type(in, position);
      try {
        if (position == 0) {
          snapshot(type, payload);
        } else if (type == EDIT) {
          apply(Edit.decode(payload));
        } else if (type == SYNCED) {
          synced = payload.getLong();
        } else {
          throw corrupt(position, "a record of unknown type " + type, null);
        }
      } catch (BufferUnderflowException e) {
        throw corrupt(position, "a record is shorter than its content", e);
      }
      position = end(in, position);
    }
    if (position == 0) {
      throw corrupt(0, "the first record is damaged", null);
    }
    for (int at = position + 1; at < in.limit(); ) {
      boolean whole = isWhole(in, at);
      if (whole && type(in, at) == SYNCED) {
        synced = Math.max(synced, payload(in, at).getLong());
      }
      at = whole ? end(in, at) : at + 1;
    }
    if (position < synced) {
      throw corrupt(position, "a synced record is damaged", null);
    }
    return position;
  }

  private void snapshot(byte type, ByteBuffer payload) {
    if (type != SNAPSHOT || payload.getLong() != MAGIC) {
      throw corrupt(0, "this is not a manifest", null);
    }
    int version = payload.getInt();
    if (version != VERSION) {
      throw new CorruptionException(
          "%s: manifest format version %d, this engine reads %d: open the store with the engine that wrote it, or load the data again"
              .formatted(directory.describe(NAME), version, VERSION));
    }
    apply(Edit.decode(payload));
  }

  /** Returns the content of a manifest file as a little-endian buffer. */
  static ByteBuffer content(StoreDirectory directory, String name) throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment bytes = directory.map(name, arena);
      byte[] content = ValueSink.copy(bytes, 0, Math.toIntExact(bytes.byteSize()));
      return ByteBuffer.wrap(content).order(ByteOrder.LITTLE_ENDIAN);
    }
  }

  static byte type(ByteBuffer in, int position) {
    return in.get(position + 8);
  }

  static ByteBuffer payload(ByteBuffer in, int position) {
    return in.slice(position + HEADER_BYTES, in.getInt(position + 4))
        .order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Returns the offset after the record at {@code position}. */
  static int end(ByteBuffer in, int position) {
    return position + HEADER_BYTES + in.getInt(position + 4);
  }

  static boolean isWhole(ByteBuffer in, int position) {
    int room = in.limit() - position - HEADER_BYTES;
    if (room < 0) {
      return false;
    }
    int length = in.getInt(position + 4);
    if (length < 0 || length > room) {
      return false;
    }
    int crc = Bytes.crc32c(in.slice(position + 4, HEADER_BYTES - 4 + length));
    return (crc ^ placeMask(position)) == in.getInt(position);
  }

  private void apply(Edit edit) {
    for (long number : edit.removed()) {
      if (tables.remove(number) == null) {
        throw corrupt(0, "it removes table " + number + ", which it never added", null);
      }
    }
    for (TableEntry entry : edit.added()) {
      if (tables.put(entry.number(), entry) != null) {
        throw corrupt(0, "it adds table " + entry.number() + " twice", null);
      }
    }
    nextFile = Math.max(nextFile, edit.nextFile());
    firstLog = Math.max(firstLog, edit.firstLog());
    if (edit.durableLog().number() >= durableLog.number()) {
      durableLog = edit.durableLog();
    }
  }

  /**
   * Makes a change durable, then applies it.
   *
   * @throws SyncFailedException if it is unknown whether a restart will find this change or an
   *     earlier one; no change can be made any more, because it might repeat that one
   * @throws IOException if the change was not made; the manifest is unchanged and usable
   */
  public void append(Edit edit) throws IOException {
    assert edit.nextFile() >= nextFile && edit.firstLog() >= firstLog : "an edit never goes back";
    if (failure != null) {
      throw failure;
    }
    try {
      if (file.length() > rewriteBytes) {
        rewrite();
      }
      write(record(EDIT, edit.encode(), file.length()));
      file.sync();
    } catch (SyncFailedException e) {
      failure = e;
      throw e;
    }
    apply(edit);
  }

  /**
   * Records that the last change is durable. Call it before deleting files that the change made
   * unnecessary. Does not sync the record: it need only be written before the files are deleted.
   */
  public void noteSynced() throws IOException {
    ByteBuffer synced = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    write(record(SYNCED, synced.putLong(file.length()).flip(), file.length()));
  }

  private void write(ByteBuffer record) throws IOException {
    long before = file.length();
    try {
      file.write(record);
    } catch (IOException e) {
      try {
        file.truncate(before);
      } catch (IOException cannotTruncate) {
        e.addSuppressed(cannotTruncate); // the next record overwrites the partial one
      }
      throw e;
    }
  }

  private void rewrite() throws IOException {
    Edit all = new Edit(nextFile, firstLog, List.of(), List.copyOf(tables.values()), durableLog);
    ByteBuffer edit = all.encode();
    ByteBuffer payload =
        ByteBuffer.allocate(12 + edit.remaining())
            .order(ByteOrder.LITTLE_ENDIAN)
            .putLong(MAGIC)
            .putInt(VERSION)
            .put(edit)
            .flip();
    if (directory.list().contains(TEMPORARY_NAME)) {
      directory.delete(TEMPORARY_NAME);
    }
    WritableFile next = directory.create(TEMPORARY_NAME);
    try {
      next.write(record(SNAPSHOT, payload, 0));
      next.sync();
      directory.rename(TEMPORARY_NAME, NAME);
      directory.sync();
    } catch (IOException e) {
      try {
        next.close();
      } catch (IOException cannotClose) {
        e.addSuppressed(cannotClose); // the first error may be a failed sync, which is final
      }
      throw e;
    }
    if (file != null) {
      file.close();
    }
    file = next;
  }

  private static ByteBuffer record(byte type, ByteBuffer payload, long position) {
    ByteBuffer out =
        ByteBuffer.allocate(HEADER_BYTES + payload.remaining()).order(ByteOrder.LITTLE_ENDIAN);
    out.putInt(0).putInt(payload.remaining()).put(type).put(payload);
    int crc = Bytes.crc32c(out.slice(4, out.position() - 4));
    return out.putInt(0, crc ^ placeMask(position)).flip();
  }

  private static int placeMask(long position) {
    return (int) (((position + 1) * 0xD6E8FEB86659FD93L) >>> 32);
  }

  private CorruptionException corrupt(long position, String what, Throwable cause) {
    return new CorruptionException(
        directory.describe(NAME)
            + " at offset "
            + position
            + ": "
            + what
            + ". Restore the store from a copy",
        cause);
  }

  /** Returns the tables of the store. */
  public Collection<TableEntry> tables() {
    return List.copyOf(tables.values());
  }

  /** Returns a number greater than that of every file that the manifest knows. */
  public long nextFile() {
    return nextFile;
  }

  /**
   * Returns the last log that is known to be durable, with its durable length. All needed logs
   * before it are durable too.
   */
  public LogEntry durableLog() {
    return durableLog;
  }

  /** Returns the number of the first log that is still needed. */
  public long firstLog() {
    return firstLog;
  }

  @Override
  public void close() throws IOException {
    if (file != null) {
      file.close();
    }
  }
}
