package lsmlab.server.http;

import one.nio.net.Session;

/** The part of a reply that the socket did not take at once; counted in the server's budget while it waits. */
final class PendingReply extends Session.ArrayQueueItem {

  private final DataServer server;
  private boolean released;

  PendingReply(byte[] rest, DataServer server) {
    super(rest, 0, rest.length, 0);
    this.server = server;
    server.replyMemory().addAndGet(rest.length);
  }

  @Override
  public void release() {
    if (!released) {
      released = true;
      server.replyMemory().addAndGet(-count);
    }
  }
}
