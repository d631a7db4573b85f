package lsmlab.peers;

/** {@code engine: rocksdb} keeps the contract. */
class RocksEngineTest extends EngineContract {

  RocksEngineTest() {
    super("rocksdb");
  }
}
