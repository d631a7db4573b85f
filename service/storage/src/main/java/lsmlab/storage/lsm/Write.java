package lsmlab.storage.lsm;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;
import lsmlab.storage.Limits;
import lsmlab.storage.WriteSink;

/**
 * One write on its way through the {@link CommitPipeline}. Its owner pushes it, and the thread that
 * commits it finishes it. The caller's arrays are read only until the write is finished.
 *
 * <p>Its owner may reuse a finished write ({@link #reset}). A leader that is late may then wake the
 * owner without need, which is harmless.
 */
final class Write {

  private static final int WAITING = 0;
  private static final int PARKED = 1;
  private static final int DONE = 2;
  private static final VarHandle STATE;

  static {
    try {
      STATE = MethodHandles.lookup().findVarHandle(Write.class, "state", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /**
   * The write that a platform thread reuses. Allocating 56 bytes for each PUT would cause frequent
   * young collections at full load, each of which stops all writers.
   */
  private static final ThreadLocal<Write> OWN = ThreadLocal.withInitial(Write::seal);

  byte[] key;
  int keyOffset;
  int keyLength;

  /** Null for a deletion. A request to seal the memtable has neither a key nor a value. */
  byte[] value;

  int valueOffset;
  int valueLength;

  /** Whether the owner waits for this write. False for all but the last write of a run. */
  boolean awaited = true;

  /** The next write in the pipeline's list. */
  Write next;

  private Thread owner;
  private RuntimeException failure;

  @SuppressWarnings("unused") // through STATE
  private int state;

  Write(byte[] key, int keyOffset, int keyLength, byte[] value, int valueOffset, int valueLength) {
    reset(key, keyOffset, keyLength, value, valueOffset, valueLength);
  }

  /** Reuses this object for another write of the calling thread. */
  final void reset(
      byte[] newKey,
      int newKeyOffset,
      int newKeyLength,
      byte[] newValue,
      int newValueOffset,
      int newValueLength) {
    key = newKey;
    keyOffset = newKeyOffset;
    keyLength = newKeyLength;
    value = newValue;
    valueOffset = newValueOffset;
    valueLength = newValueLength;
    owner = Thread.currentThread();
    failure = null;
    state = WAITING;
  }

  /** Passes the write, which must not be a request to seal, to the sink. */
  <X extends Exception> void writeTo(WriteSink<X> sink) throws X {
    if (value == null) {
      sink.delete(key, keyOffset, keyLength);
    } else {
      sink.put(key, keyOffset, keyLength, value, valueOffset, valueLength);
    }
  }

  /** Clears the references to the caller's arrays and to the next write. */
  void forget() {
    key = null;
    value = null;
    next = null;
  }

  /**
   * Returns a write for the calling thread, which must call {@link #end} before it calls this
   * method again.
   */
  static Write begin(
      byte[] key, int keyOffset, int keyLength, byte[] value, int valueOffset, int valueLength) {
    if (Thread.currentThread().isVirtual()) {
      // A virtual thread may never write again.
      return new Write(key, keyOffset, keyLength, value, valueOffset, valueLength);
    }
    Write own = OWN.get();
    assert own.key == null : "a thread's write was not ended";
    own.reset(key, keyOffset, keyLength, value, valueOffset, valueLength);
    return own;
  }

  /**
   * Clears the references to the arrays. Called by the owner. A write that never finished, because
   * its commit threw an error, may still be in the pipeline's list, so it is not reused.
   */
  void end() {
    if (isDone()) {
      forget();
    } else {
      OWN.remove();
    }
  }

  /** Returns a request to seal the memtable after all earlier writes. */
  static Write seal() {
    return new Write(null, 0, 0, null, 0, 0);
  }

  boolean isSeal() {
    return key == null;
  }

  /** Returns the estimated size in bytes of this write's record in the WAL. */
  long bytes() {
    return bytes(keyLength, valueLength);
  }

  /** Returns the estimated size in bytes of the WAL record of a write with these lengths. */
  static long bytes(int keyLength, int valueLength) {
    return Limits.recordBytes(keyLength, valueLength);
  }

  boolean isDone() {
    return (int) STATE.getAcquire(this) == DONE;
  }

  /** Sleeps until woken, unless the write is finished. May return spuriously. */
  void park() {
    if (STATE.compareAndSet(this, WAITING, PARKED)) {
      LockSupport.park(this);
      STATE.compareAndSet(this, PARKED, WAITING);
    }
  }

  /** Wakes the owner, which then checks whether it has to lead a group. */
  void nudge() {
    LockSupport.unpark(owner);
  }

  /**
   * Marks the write as finished.
   *
   * @param reason why it was not committed, or null if it was
   * @return whether the owner is sleeping and must be woken
   */
  boolean finish(RuntimeException reason) {
    failure = reason;
    return (int) STATE.getAndSet(this, DONE) == PARKED;
  }

  RuntimeException failure() {
    return failure;
  }
}
