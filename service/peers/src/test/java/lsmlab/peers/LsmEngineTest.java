package lsmlab.peers;

/** {@code engine: lsm} keeps the contract. */
class LsmEngineTest extends EngineContract {

  LsmEngineTest() {
    super("lsm");
  }
}
