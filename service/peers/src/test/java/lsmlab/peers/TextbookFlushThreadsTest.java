package lsmlab.peers;

import lsmlab.storage.FlushBacklog;
import lsmlab.storage.LsmOptions;

/** {@code textbook} with several flushes at a time, which may end in another order than they began. */
class TextbookFlushThreadsTest extends EngineContract {

  TextbookFlushThreadsTest() {
    super("textbook");
  }

  @Override
  LsmOptions.Builder options() {
    return super.options()
        .flushThresholdBytes(4096)
        .flushThreads(4)
        .flushBacklog(FlushBacklog.UNBOUNDED);
  }
}
