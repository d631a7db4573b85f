package lsmlab.storage.lsm;

import java.util.Arrays;
import lsmlab.storage.OverloadedException;
import lsmlab.storage.ReadOnlyException;
import lsmlab.storage.WriteBatch;

/**
 * Commits a {@link WriteBatch} through the {@link CommitPipeline}. Each thread keeps and reuses its
 * {@link Write} objects, so that a batch allocates nothing. Not thread-safe.
 */
final class BatchWrites {

  /** Admits a write, or throws the reason why it is refused. */
  @FunctionalInterface
  interface Admission {
    void admit(long bytes, int valueLength);
  }

  /** Maximum number of {@link Write} objects that a thread keeps for its next batch. */
  private static final int KEPT_MAX = 1024;

  /** Only for platform threads: a virtual thread may never commit a second batch. */
  private static final ThreadLocal<BatchWrites> OWN = ThreadLocal.withInitial(BatchWrites::new);

  private Write[] writes = new Write[16];

  private BatchWrites() {}

  /**
   * Admits the writes in order, commits the admitted ones, and records failures in the batch. If
   * the store refuses a write, all later ones fail too, because they would wait just as long for
   * the same memory or tables. A value that is too large fails alone.
   *
   * @param admission called for each write in order
   */
  static void commit(WriteBatch batch, Admission admission, CommitPipeline pipeline) {
    boolean virtual = Thread.currentThread().isVirtual();
    BatchWrites own = virtual ? new BatchWrites() : OWN.get();
    boolean done = false;
    try {
      own.run(batch, admission, pipeline);
      done = true;
    } finally {
      // After an error some writes may still be in the pipeline's list, so none is reused.
      if (!virtual && (!done || own.writes.length > KEPT_MAX)) {
        OWN.remove();
      }
    }
  }

  private void run(WriteBatch batch, Admission admission, CommitPipeline pipeline) {
    int end = admit(batch, admission);
    int count = fill(batch, end);
    pipeline.submit(writes, count);
    for (int i = 0, next = 0; i < end; i++) {
      if (batch.failure(i) != null) {
        continue;
      }
      Write write = writes[next++];
      assert write.isDone() : "write " + i + " of a batch was not finished";
      if (write.failure() != null) {
        batch.fail(i, write.failure());
      }
      write.forget();
    }
  }

  /** Returns the number of the first write that is refused for lack of room. */
  private static int admit(WriteBatch batch, Admission admission) {
    for (int i = 0; i < batch.size(); i++) {
      try {
        admission.admit(
            Write.bytes(batch.keyLength(i), batch.valueLength(i)), batch.valueLength(i));
      } catch (IllegalArgumentException e) {
        batch.fail(i, e);
      } catch (OverloadedException | ReadOnlyException e) {
        for (int left = i; left < batch.size(); left++) {
          batch.fail(left, e);
        }
        return i;
      }
    }
    return batch.size();
  }

  /** Collects the admitted writes before {@code end}. Returns their number. */
  private int fill(WriteBatch batch, int end) {
    if (end > writes.length) {
      writes = Arrays.copyOf(writes, Math.max(end, 2 * writes.length));
    }
    int count = 0;
    for (int i = 0; i < end; i++) {
      if (batch.failure(i) != null) {
        continue;
      }
      if (writes[count] == null) {
        writes[count] = Write.seal();
      }
      writes[count++].reset(
          batch.key(i),
          batch.keyOffset(i),
          batch.keyLength(i),
          batch.value(i),
          batch.valueOffset(i),
          batch.valueLength(i));
    }
    return count;
  }
}
