package lsmlab.peers;

import lsmlab.storage.WriteBatch;
import org.rocksdb.RocksDBException;

/** RocksDB's own batch, filled from ours. For one thread. */
final class RocksBatch implements WriteBatch.Visitor, AutoCloseable {

  final org.rocksdb.WriteBatch batch = new org.rocksdb.WriteBatch();

  @Override
  public void put(
      byte[] key, int keyOffset, int keyLength, byte[] value, int valueOffset, int valueLength) {
    try {
      batch.put(
          Slices.view(key, keyOffset, keyLength), Slices.view(value, valueOffset, valueLength));
    } catch (RocksDBException e) {
      throw RocksEngine.translated("write", e);
    }
  }

  @Override
  public void delete(byte[] key, int keyOffset, int keyLength) {
    try {
      batch.delete(Slices.view(key, keyOffset, keyLength));
    } catch (RocksDBException e) {
      throw RocksEngine.translated("write", e);
    }
  }

  @Override
  public void close() {
    batch.close();
  }
}
