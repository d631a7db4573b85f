package lsmlab.peers;

/** {@code engine: memory} keeps the contract. */
class MemoryEngineTest extends EngineContract {

  MemoryEngineTest() {
    super("memory");
  }
}
