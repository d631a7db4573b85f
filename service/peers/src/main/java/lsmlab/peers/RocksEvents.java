package lsmlab.peers;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.LongAdder;
import lsmlab.storage.EngineStats;
import lsmlab.storage.event.EventLog;
import org.rocksdb.AbstractEventListener;
import org.rocksdb.CompactionJobInfo;
import org.rocksdb.CompactionJobStats;
import org.rocksdb.FlushJobInfo;
import org.rocksdb.RocksDB;
import org.rocksdb.TableProperties;

/**
 * Counts flushes and compactions on RocksDB's background threads, so that counting costs reads and
 * writes nothing. Thread-safe.
 */
final class RocksEvents extends AbstractEventListener {

  private final ConcurrentMap<Integer, Long> flushStarts = new ConcurrentHashMap<>();
  private final LongAdder flushes = new LongAdder();
  private final LongAdder flushBytes = new LongAdder();
  private final LongAdder flushNanos = new LongAdder();
  private final LongAdder compactions = new LongAdder();
  private final LongAdder compactionBytes = new LongAdder();
  private final LongAdder compactionNanos = new LongAdder();

  RocksEvents() {
    super(
        EnabledEventCallback.ON_FLUSH_BEGIN,
        EnabledEventCallback.ON_FLUSH_COMPLETED,
        EnabledEventCallback.ON_COMPACTION_COMPLETED);
  }

  @Override
  public void onFlushBegin(RocksDB db, FlushJobInfo job) {
    flushStarts.put(job.getJobId(), System.nanoTime());
  }

  @Override
  public void onFlushCompleted(RocksDB db, FlushJobInfo job) {
    Long start = flushStarts.remove(job.getJobId());
    TableProperties table = job.getTableProperties();
    if (start != null) {
      long nanos = System.nanoTime() - start;
      flushNanos.add(nanos);
      EventLog.flush(nanos, table.getRawKeySize() + table.getRawValueSize(), table.getDataSize());
    }
    flushBytes.add(table.getDataSize());
    flushes.increment();
  }

  @Override
  public void onCompactionCompleted(RocksDB db, CompactionJobInfo job) {
    CompactionJobStats stats = job.stats();
    compactionNanos.add(stats.elapsedMicros() * 1_000);
    compactionBytes.add(stats.totalOutputBytes());
    compactions.increment();
    EventLog.compaction(
        stats.elapsedMicros() * 1_000,
        job.baseInputLevel(),
        job.outputLevel(),
        (int) stats.numInputFiles(),
        stats.totalInputBytes(),
        stats.totalOutputBytes());
  }

  EngineStats stats(long memtableBytes, int memtablesSealed, int tables, long tableBytes) {
    return new EngineStats(
        memtableBytes,
        memtablesSealed,
        flushes.sum(),
        flushBytes.sum(),
        flushNanos.sum(),
        compactions.sum(),
        compactionBytes.sum(),
        compactionNanos.sum(),
        tables,
        tableBytes,
        0,
        0,
        0,
        0,
        0);
  }
}
