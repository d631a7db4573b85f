package lsmlab.server.http;

import java.io.IOException;
import one.nio.net.Session;
import one.nio.net.Socket;

/**
 * The bytes of a response. Bytes that the socket does not accept at once count against the server's budget while they
 * wait.
 */
final class QueuedResponse extends Session.QueueItem {

  /**
   * Maximum number of bytes in one write. A JDK socket keeps a buffer as large as its largest write, for each thread.
   */
  private static final int WRITE_BYTES_MAX = 64 * 1024;

  private final byte[] data;
  private final Deadlines deadlines;
  private final MemoryBudget budget;
  private int written;
  private boolean counted;

  QueuedResponse(byte[] data, Deadlines deadlines, MemoryBudget budget) {
    this.data = data;
    this.deadlines = deadlines;
    this.budget = budget;
  }

  @Override
  public int remaining() {
    return data.length - written;
  }

  @Override
  public int write(Socket socket) throws IOException {
    int total = 0;
    while (written < data.length) {
      int wanted = Math.min(data.length - written, WRITE_BYTES_MAX);
      int count = socket.write(data, written, wanted, 0);
      if (count > 0) {
        written += count;
        assert written <= data.length : "the socket has taken more than it was given";
        total += count;
      }
      if (count < wanted) {
        break;
      }
    }
    deadlines.sent(total);
    if (written < data.length && !counted) {
      counted = true;
      budget.hold(data.length);
    }
    return total;
  }

  @Override
  public void release() {
    if (counted) {
      counted = false;
      budget.release(data.length);
    }
  }
}
