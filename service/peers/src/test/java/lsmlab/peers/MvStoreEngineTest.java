package lsmlab.peers;

/** {@code engine: mvstore} keeps the contract. */
class MvStoreEngineTest extends EngineContract {

  MvStoreEngineTest() {
    super("mvstore");
  }
}
