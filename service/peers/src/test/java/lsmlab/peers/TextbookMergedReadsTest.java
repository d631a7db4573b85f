package lsmlab.peers;

import lsmlab.storage.FlushBacklog;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.ReadPath;

/** {@code textbook} with merged reads, no bloom filters, and writes that fail during a flush. */
class TextbookMergedReadsTest extends EngineContract {

  TextbookMergedReadsTest() {
    super("textbook");
  }

  @Override
  LsmOptions.Builder options() {
    return super.options()
        .readPath(ReadPath.MERGE)
        .bloomBitsPerKey(0)
        .flushBacklog(FlushBacklog.FAIL);
  }
}
