package lsmlab.peers;

import java.lang.foreign.MemorySegment;
import lsmlab.storage.Scan;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.Slice;

/**
 * A {@link Scan} over a RocksDB iterator. It shows the store as it was when the iterator was
 * created.
 */
class RocksScan implements Scan {

  private final Slice upperBound;
  private final ReadOptions readOptions = new ReadOptions();
  private final RocksIterator iterator;
  private final byte[] from;
  private boolean started;
  private boolean closed;

  RocksScan(RocksDB db, byte[] from, byte[] to) {
    this.from = from.clone();
    upperBound = to == null ? null : new Slice(to);
    if (upperBound != null) {
      readOptions.setIterateUpperBound(upperBound);
    }
    iterator = db.newIterator(readOptions);
  }

  @Override
  public boolean next() {
    if (started) {
      if (!iterator.isValid()) {
        return false;
      }
      iterator.next();
    } else {
      started = true;
      iterator.seek(from);
    }
    if (iterator.isValid()) {
      return true;
    }
    try {
      iterator.status();
    } catch (RocksDBException e) {
      throw RocksEngine.translated("scan", e);
    }
    return false;
  }

  @Override
  public MemorySegment key() {
    return MemorySegment.ofArray(atPair().key()).asReadOnly();
  }

  @Override
  public MemorySegment value() {
    return MemorySegment.ofArray(atPair().value()).asReadOnly();
  }

  final RocksIterator atPair() {
    if (!started || !iterator.isValid()) {
      throw new IllegalStateException("the scan is not at a pair");
    }
    return iterator;
  }

  @Override
  public void close() {
    if (closed) {
      return;
    }
    closed = true;
    iterator.close();
    readOptions.close();
    if (upperBound != null) {
      upperBound.close();
    }
  }
}
