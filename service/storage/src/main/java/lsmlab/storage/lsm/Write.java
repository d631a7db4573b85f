package lsmlab.storage.lsm;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;
import lsmlab.storage.Limits;
import lsmlab.storage.WriteSink;

/**
 * One write on its way through the {@link CommitPipeline}: handed over by its thread, finished by whichever thread
 * commits it. The arrays stay the caller's; they are read until the write is finished and not after.
 *
 * <p>May be used again by the same thread once it is finished ({@link #reset}): a leader that is late touches its owner
 * alone, to wake it for nothing.
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
   * A platform thread's own, used for one write after the other. An object for each PUT, 56 bytes, made a young collection
   * every ten seconds of overwriting at full speed, which stopped all writers for 10 to 40 ms.
   */
  private static final ThreadLocal<Write> OWN = ThreadLocal.withInitial(Write::seal);

  byte[] key;
  int keyOffset;
  int keyLength;

  /** Null for a deletion, and for a request to seal the memtable, which has no key either. */
  byte[] value;

  int valueOffset;
  int valueLength;

  /** Its thread waits for this one; not for those which the same thread handed over before it, in one go. */
  boolean awaited = true;

  /** The next one in the pipeline's list. */
  Write next;

  private Thread owner;
  private RuntimeException failure;

  @SuppressWarnings("unused") // through STATE
  private int state;

  Write(byte[] key, int keyOffset, int keyLength, byte[] value, int valueOffset, int valueLength) {
    reset(key, keyOffset, keyLength, value, valueOffset, valueLength);
  }

  /** Makes it another write of this thread's. */
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

  /** Hands it, which is no request to seal, to where it shall be done. */
  <X extends Exception> void writeTo(WriteSink<X> sink) throws X {
    if (value == null) {
      sink.delete(key, keyOffset, keyLength);
    } else {
      sink.put(key, keyOffset, keyLength, value, valueOffset, valueLength);
    }
  }

  /** Lets go of the caller's arrays and of the write it was linked to. */
  void forget() {
    key = null;
    value = null;
    next = null;
  }

  /** A write of the calling thread, which {@link #end ends} it before it begins another. */
  static Write begin(
      byte[] key, int keyOffset, int keyLength, byte[] value, int valueOffset, int valueLength) {
    if (Thread.currentThread().isVirtual()) {
      // It may do no more than this one write.
      return new Write(key, keyOffset, keyLength, value, valueOffset, valueLength);
    }
    Write own = OWN.get();
    assert own.key == null : "a thread's write was not ended";
    own.reset(key, keyOffset, keyLength, value, valueOffset, valueLength);
    return own;
  }

  /**
   * Lets go of the arrays and of what it was linked to; by its thread. One that is not done, because committing it ended in
   * an error, may still be in the pipeline's list: it is never used again.
   */
  void end() {
    if (isDone()) {
      forget();
    } else {
      OWN.remove();
    }
  }

  /** A request to seal the memtable once everything before it is in. */
  static Write seal() {
    return new Write(null, 0, 0, null, 0, 0);
  }

  boolean isSeal() {
    return key == null;
  }

  /** Estimated bytes in the log. */
  long bytes() {
    return bytes(keyLength, valueLength);
  }

  /** Estimated bytes in the log of a write with a key and a value of these lengths. */
  static long bytes(int keyLength, int valueLength) {
    return Limits.recordBytes(keyLength, valueLength);
  }

  boolean isDone() {
    return (int) STATE.getAcquire(this) == DONE;
  }

  /** Sleeps until woken, unless it is done. May return for no reason. */
  void park() {
    if (STATE.compareAndSet(this, WAITING, PARKED)) {
      LockSupport.park(this);
      STATE.compareAndSet(this, PARKED, WAITING);
    }
  }

  /** Wakes the owner so that it looks for work itself. */
  void nudge() {
    LockSupport.unpark(owner);
  }

  /**
   * Marks it done.
   *
   * @param reason why it was not written, or null if it was
   * @return whether the owner sleeps and must be woken
   */
  boolean finish(RuntimeException reason) {
    failure = reason;
    return (int) STATE.getAndSet(this, DONE) == PARKED;
  }

  RuntimeException failure() {
    return failure;
  }
}
