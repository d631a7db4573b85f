package lsmlab.peers;

import lsmlab.storage.WriteSink;
import org.rocksdb.RocksDBException;
import org.rocksdb.WriteBatch;

/** RocksDB's batch, filled from a {@link lsmlab.storage.WriteBatch}. For one thread. */
final class RocksBatch implements WriteSink<RocksDBException>, AutoCloseable {

  final WriteBatch batch = new WriteBatch();

  @Override
  public void put(
      byte[] key, int keyOffset, int keyLength, byte[] value, int valueOffset, int valueLength)
      throws RocksDBException {
    batch.put(Slices.view(key, keyOffset, keyLength), Slices.view(value, valueOffset, valueLength));
  }

  @Override
  public void delete(byte[] key, int keyOffset, int keyLength) throws RocksDBException {
    batch.delete(Slices.view(key, keyOffset, keyLength));
  }

  @Override
  public void close() {
    batch.close();
  }
}
