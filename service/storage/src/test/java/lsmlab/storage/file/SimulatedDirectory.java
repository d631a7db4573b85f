package lsmlab.storage.file;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.random.RandomGenerator;

/**
 * A directory of a store, in memory, that can lose power. Each file keeps its current bytes and
 * those of its last sync. The directory keeps its current names and those of its last sync. {@link
 * #losePower} randomly keeps or loses each unsynced block of 4 KiB, or of 512 bytes, and each
 * unsynced name. A lost block has its synced content, or zeros.
 *
 * <p>A {@link Fault} is called before each operation and may make it fail. {@link #freeze}
 * simulates the death of the process: every later operation fails and changes nothing. Thread-safe.
 *
 * <p>One long file, because all of it works on the same two maps of names, under one lock.
 */
public final class SimulatedDirectory implements StoreDirectory {

  /** Kinds of operations. */
  public enum Operation {
    LOCK,
    LIST,
    CREATE,
    OPEN,
    MAP,
    WRITE,
    PAD,
    TRUNCATE,
    SYNC_FILE,
    RENAME,
    DELETE,
    SYNC_DIRECTORY
  }

  /** Decides whether an operation fails. */
  @FunctionalInterface
  public interface Fault {
    /**
     * @param name of the file, empty for the directory
     * @throws IOException to make the operation fail; a write or preallocation may then be partly
     *     done
     */
    void before(Operation operation, String name) throws IOException;
  }

  /** Decides which syncs are executed. So a test can plant the fault of a missing sync. */
  @FunctionalInterface
  public interface SyncFilter {
    /**
     * @param name of the file, empty for the directory
     */
    boolean isDone(String name);
  }

  /** Changes the bytes that a reader gets, as a damaged sector does. The file stays as it is. */
  @FunctionalInterface
  public interface ReadFault {
    void damage(String name, byte[] content);
  }

  private final Map<String, Inode> names = new TreeMap<>();
  private final Map<String, Inode> syncedNames = new TreeMap<>();
  private Fault fault = (operation, name) -> {};
  private ReadFault readFault = (name, content) -> {};
  private SyncFilter syncFilter = name -> true;
  private boolean frozen;
  private boolean locked;

  /**
   * Files that are open for writing. Files and mappings that are left after a store was closed are
   * leaks.
   */
  private final Set<File> open = new HashSet<>();

  private final Map<MemorySegment.Scope, String> maps = new IdentityHashMap<>();

  /** Calls this fault before every operation from now on. */
  public synchronized void setFault(Fault fault) {
    this.fault = fault;
  }

  /** Passes the bytes of every file that is mapped from now on to this fault. */
  public synchronized void setReadFault(ReadFault fault) {
    this.readFault = fault;
  }

  /** Executes only the syncs that pass this filter from now on. */
  public synchronized void setSyncFilter(SyncFilter filter) {
    this.syncFilter = filter;
  }

  /** Simulates the death of the process: every operation fails from now on. */
  public synchronized void freeze() {
    frozen = true;
  }

  /** Whether the process is dead. */
  public synchronized boolean isFrozen() {
    return frozen;
  }

  /** Returns the bytes of every file, by its name. */
  public synchronized Map<String, byte[]> contents() {
    Map<String, byte[]> contents = new TreeMap<>();
    names.forEach((name, inode) -> contents.put(name, inode.content()));
    return contents;
  }

  /** Returns a line for each file that is open for writing, and for each that is mapped. */
  public synchronized List<String> inUse() {
    List<String> inUse = new ArrayList<>();
    open.forEach(file -> inUse.add(file.name + " is open"));
    maps.forEach(
        (scope, name) -> {
          if (scope.isAlive()) {
            inUse.add(name + " is mapped");
          }
        });
    return inUse;
  }

  /** Returns the names of the files with this suffix. */
  public synchronized List<String> names(String suffix) {
    return names.keySet().stream().filter(name -> name.endsWith(suffix)).toList();
  }

  /** Returns the number of bytes in all files with this suffix. */
  public synchronized long bytes(String suffix) {
    return names(suffix).stream().mapToLong(name -> names.get(name).length).sum();
  }

  /** Whether a file of this name is mapped now. */
  public synchronized boolean isMapped(String name) {
    return maps.entrySet().stream()
        .anyMatch(map -> map.getValue().equals(name) && map.getKey().isAlive());
  }

  /** Returns what a loss of power leaves at least: only what was synced. */
  public synchronized SimulatedDirectory certain() {
    SimulatedDirectory certain = new SimulatedDirectory();
    syncedNames.forEach((name, inode) -> certain.replace(name, inode.synced));
    return certain;
  }

  /**
   * Returns what the next process finds after this process has died while the machine kept running.
   */
  public synchronized SimulatedDirectory afterKill() {
    SimulatedDirectory after = new SimulatedDirectory();
    Map<Inode, Inode> copies = new IdentityHashMap<>();
    names.forEach(
        (name, inode) -> after.names.put(name, copies.computeIfAbsent(inode, Inode::copy)));
    syncedNames.forEach(
        (name, inode) -> after.syncedNames.put(name, copies.computeIfAbsent(inode, Inode::copy)));
    return after;
  }

  /**
   * Returns what the next process finds after a loss of power. The device's atomic block has a
   * random size, 4 KiB or 512 bytes.
   */
  public synchronized SimulatedDirectory losePower(RandomGenerator random) {
    SimulatedDirectory after = new SimulatedDirectory();
    TreeSet<String> all = new TreeSet<>(names.keySet());
    all.addAll(syncedNames.keySet());
    int blockBytes = random.nextBoolean() ? 4096 : 512;
    Map<Inode, Inode> survivors = new HashMap<>();
    for (String name : all) {
      Inode kept = random.nextBoolean() ? names.get(name) : syncedNames.get(name);
      if (kept != null) {
        Inode survivor =
            survivors.computeIfAbsent(kept, inode -> inode.losePower(random, blockBytes));
        after.names.put(name, survivor);
        after.syncedNames.put(name, survivor);
      }
    }
    return after;
  }

  /** Returns the bytes of a file, which a test can inspect or damage. */
  public synchronized byte[] content(String name) {
    return names.get(name).content();
  }

  /** Replaces the bytes of a file, as damage does. They count as synced. */
  public synchronized void replace(String name, byte[] content) {
    Inode inode = Inode.synced(content.clone());
    names.put(name, inode);
    syncedNames.put(name, inode);
  }

  private void check(Operation operation, String name) throws IOException {
    if (frozen) {
      throw new IOException("the process is dead");
    }
    fault.before(operation, name);
    if (frozen) {
      throw new IOException("the process is dead");
    }
  }

  private Inode existing(String name) throws NoSuchFileException {
    Inode inode = names.get(name);
    if (inode == null) {
      throw new NoSuchFileException(name);
    }
    return inode;
  }

  @Override
  public synchronized List<String> list() throws IOException {
    check(Operation.LIST, "");
    return List.copyOf(names.keySet());
  }

  @Override
  public synchronized WritableFile create(String name) throws IOException {
    check(Operation.CREATE, name);
    if (names.containsKey(name)) {
      throw new FileAlreadyExistsException(name);
    }
    Inode inode = new Inode();
    names.put(name, inode);
    return opened(new File(name, inode, 0));
  }

  @Override
  public synchronized WritableFile openAt(String name, long length) throws IOException {
    check(Operation.OPEN, name);
    Inode inode = existing(name);
    if (inode.length < length) {
      throw new IOException(name + " is shorter than " + length);
    }
    inode.length = (int) length;
    return opened(new File(name, inode, (int) length));
  }

  private File opened(File file) {
    open.add(file);
    return file;
  }

  @Override
  public synchronized MemorySegment map(String name, Arena arena) throws IOException {
    check(Operation.MAP, name);
    Inode inode = existing(name);
    MemorySegment mapped = arena.allocate(Math.max(1, inode.length), 64);
    maps.keySet().removeIf(scope -> !scope.isAlive());
    maps.put(arena.scope(), name);
    byte[] content = inode.content();
    readFault.damage(name, content);
    MemorySegment.copy(MemorySegment.ofArray(content), 0, mapped, 0, inode.length);
    return mapped.asSlice(0, inode.length).asReadOnly();
  }

  @Override
  public synchronized void rename(String from, String to) throws IOException {
    check(Operation.RENAME, from);
    names.put(to, existing(from));
    names.remove(from);
  }

  @Override
  public synchronized void delete(String name) throws IOException {
    check(Operation.DELETE, name);
    existing(name);
    names.remove(name);
  }

  @Override
  public synchronized void sync() throws IOException {
    try {
      check(Operation.SYNC_DIRECTORY, "");
    } catch (IOException e) {
      throw new SyncFailedException("the directory", e);
    }
    if (syncFilter.isDone("")) {
      syncedNames.clear();
      syncedNames.putAll(names);
    }
  }

  @Override
  public synchronized void lock() throws IOException {
    check(Operation.LOCK, "");
    if (locked) {
      throw new IOException("the store is open elsewhere");
    }
    locked = true;
  }

  @Override
  public synchronized void lockForReading() throws IOException {
    lock();
  }

  @Override
  public String describe(String name) {
    return "simulated/" + name;
  }

  @Override
  public synchronized void close() {
    locked = false;
  }

  private final class File implements WritableFile {
    private final String name;
    private final Inode inode;
    private int length;

    File(String name, Inode inode, int length) {
      this.name = name;
      this.inode = inode;
      this.length = length;
    }

    @Override
    public void write(ByteBuffer bytes) throws IOException {
      synchronized (SimulatedDirectory.this) {
        try {
          check(Operation.WRITE, name);
        } catch (IOException e) {
          if (!frozen) {
            inode.write(length, bytes, bytes.remaining() / 2);
          }
          throw e;
        }
        int count = bytes.remaining();
        inode.write(length, bytes, count);
        length += count;
      }
    }

    @Override
    public void pad(int zeros) throws IOException {
      synchronized (SimulatedDirectory.this) {
        try {
          check(Operation.PAD, name);
        } catch (IOException e) {
          if (!frozen) {
            inode.write(length, ByteBuffer.allocate(zeros), zeros / 2);
          }
          throw e;
        }
        inode.write(length, ByteBuffer.allocate(zeros), zeros);
      }
    }

    @Override
    public void truncate(long newLength) throws IOException {
      synchronized (SimulatedDirectory.this) {
        check(Operation.TRUNCATE, name);
        inode.length = (int) newLength;
        length = (int) newLength;
      }
    }

    @Override
    public void sync() throws IOException {
      synchronized (SimulatedDirectory.this) {
        try {
          check(Operation.SYNC_FILE, name);
        } catch (IOException e) {
          throw new SyncFailedException(name, e);
        }
        if (syncFilter.isDone(name)) {
          inode.synced = inode.content();
        }
      }
    }

    @Override
    public long length() {
      synchronized (SimulatedDirectory.this) {
        return length;
      }
    }

    @Override
    public void close() {
      synchronized (SimulatedDirectory.this) {
        open.remove(this);
      }
    }
  }
}
