package lsmlab.peers;

/** {@code engine: textbook} keeps the contract, except after a kill. */
class TextbookEngineTest extends EngineContract {

  TextbookEngineTest() {
    super("textbook");
  }
}
