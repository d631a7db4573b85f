package lsmlab.peers;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import lsmlab.storage.Scan;
import org.h2.mvstore.Cursor;
import org.h2.mvstore.MVMap;
import org.h2.mvstore.MVStore;
import org.h2.mvstore.MVStoreException;

/**
 * A {@link Scan} over the root page of one moment. It registers the version, so that MVStore does
 * not reuse the pages below that root before the scan is closed.
 */
final class MvStoreScan implements Scan {

  private final MVStore store;
  private final MVStore.TxCounter version;
  private final Cursor<byte[], byte[]> cursor;
  private final byte[] to;
  private boolean atPair;
  private boolean ended;
  private boolean closed;

  MvStoreScan(MVStore store, MVMap<byte[], byte[]> map, byte[] from, byte[] to) {
    this.store = store;
    this.to = to == null ? null : to.clone();
    version = store.registerVersionUsage();
    cursor = map.cursor(from.clone());
  }

  @Override
  public boolean next() {
    atPair = false;
    if (ended) {
      return false;
    }
    try {
      ended = !cursor.hasNext();
      if (!ended) {
        byte[] key = cursor.next();
        ended = to != null && Arrays.compareUnsigned(key, to) >= 0;
      }
    } catch (MVStoreException e) {
      throw MvStoreEngine.translated("scan", e);
    }
    atPair = !ended;
    return atPair;
  }

  @Override
  public MemorySegment key() {
    checkAtPair();
    return MemorySegment.ofArray(cursor.getKey()).asReadOnly();
  }

  @Override
  public MemorySegment value() {
    checkAtPair();
    return MemorySegment.ofArray(cursor.getValue()).asReadOnly();
  }

  private void checkAtPair() {
    if (!atPair) {
      throw new IllegalStateException("the scan is not at a pair");
    }
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      store.deregisterVersionUsage(version);
    }
  }
}
