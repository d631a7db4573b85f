package lsmlab.server.http;

import java.io.IOException;
import lsmlab.server.metrics.Method;
import lsmlab.server.variant.Rejection;

/**
 * Takes one connection's requests out of its bytes, and answers by itself those that never come to the storage.
 *
 * <p>Guarded by its connection's lock, save for {@link #incompleteSince}.
 */
final class RequestReader {

  /** A refused body of up to this many bytes is read and dropped, so that the connection can go on. */
  private static final long DROPPED_BYTES_MAX = 64L * 1024 * 1024;

  private final Connection connection;
  private final DataServer server;
  private final ParsedRequest request;
  private final HeadScanner scanner = new HeadScanner();
  private final RequestHead head = new RequestHead();

  /** Bytes to come that belong to a body nobody wants. */
  private long toDrop;

  /** The request waits for more of its body. */
  private boolean readingBody;

  /** When the oldest byte of an incomplete request arrived, in milliseconds of the day; 0 where there is none. */
  private volatile long incompleteSince;

  RequestReader(Connection connection, DataServer server, ParsedRequest request) {
    this.connection = connection;
    this.server = server;
    this.request = request;
  }

  /** When the oldest byte of an incomplete request arrived, in milliseconds of the day; 0 where there is none. */
  long incompleteSince() {
    return incompleteSince;
  }

  /**
   * Takes requests out of data[from..to) until one must go to the variant, a reply waits for the socket, or no request
   * is complete.
   *
   * @return where it stopped
   */
  int consume(byte[] data, int from, int to) throws IOException {
    int at = from;
    while (!connection.blocked()) {
      if (toDrop > 0) {
        int dropped = (int) Math.min(toDrop, to - at);
        toDrop -= dropped;
        at += dropped;
        if (toDrop > 0) {
          break;
        }
      }
      if (!readingBody) {
        if (at == to) {
          break;
        }
        int headEnd = parseHead(data, at, to);
        if (headEnd < 0) {
          break;
        }
        at = headEnd;
        if (!readingBody) {
          continue;
        }
      }
      int taken = request.takeBody(data, at, to);
      if (taken < 0) {
        refuseForMemory();
        continue;
      }
      at += taken;
      if (!request.bodyComplete()) {
        break;
      }
      readingBody = false;
      connection.requestComplete();
    }
    noteIncomplete(!connection.blocked() && (at < to || readingBody));
    return at;
  }

  private void noteIncomplete(boolean incomplete) {
    long since = incompleteSince;
    if (!incomplete && since != 0) {
      incompleteSince = 0;
    } else if (incomplete && since == 0) {
      incompleteSince = System.currentTimeMillis();
    }
  }

  /**
   * Parses one head that begins at {@code from}. Afterwards {@link #readingBody} tells whether it is a request for the
   * storage; otherwise it has been answered.
   *
   * @return the index behind the head, -1 where it is not complete
   */
  private int parseHead(byte[] data, int from, int to) throws IOException {
    int headEnd = scanner.isAtStart() ? head.parseLikeLast(data, from, to) : -1;
    try {
      if (headEnd < 0) {
        headEnd = to;
        headEnd = scanner.scan(data, from, to);
        if (headEnd < 0) {
          return -1;
        }
        scanner.reset();
        if (headEnd == from + 2) {
          return headEnd; // an empty line before a request is passed over (RFC 9112, 2.2)
        }
        head.parse(data, from, headEnd);
      }
    } catch (BadRequestException e) {
      head.method = Method.OTHER;
      refuse(e, Persistence.CLOSE, true);
      return headEnd;
    }
    try {
      if (head.failure != null) {
        throw head.failure;
      }
      request.prepare(data, head, server.queryDecoder());
    } catch (BadRequestException e) {
      refuseBody(e);
      return headEnd;
    }
    readingBody = true;
    if (head.method != Method.PUT) {
      toDrop = Math.max(0, head.contentLength);
    } else if (head.expectContinue && !head.http10 && to - headEnd < head.contentLength) {
      connection.send(Replies.CONTINUE);
    }
    return headEnd;
  }

  /** Answers a request that is not served, and drops its body, or closes where that is too large or may not come. */
  private void refuseBody(BadRequestException e) throws IOException {
    long bodyBytes = Math.max(0, head.contentLength);
    boolean drop = bodyBytes <= DROPPED_BYTES_MAX && !(head.expectContinue && bodyBytes > 0);
    refuse(e, drop ? Persistence.of(head) : Persistence.CLOSE, !head.head);
    toDrop = bodyBytes;
  }

  /** Answers 503 in the middle of a body, forgets what came of it and drops the rest. */
  private void refuseForMemory() throws IOException {
    server.metrics().reject(Rejection.REQUEST_MEMORY);
    server.metrics().recorder().count(head.method, 503);
    readingBody = false;
    toDrop = request.bodyMissing();
    request.dropLargeArrays();
    Persistence persistence = Persistence.of(head);
    connection.send(Replies.empty(503, persistence));
    if (persistence == Persistence.CLOSE) {
      connection.closeAfterReplies();
    }
  }

  /** Answers a request that did not arrive in time; the connection ends. */
  void timeOut() throws IOException {
    head.method = Method.OTHER;
    refuse(
        BadRequestException.broken(408, "the request did not arrive in time"),
        Persistence.CLOSE,
        true);
  }

  private void refuse(BadRequestException e, Persistence persistence, boolean withBody)
      throws IOException {
    server.metrics().recorder().count(head.method, e.status());
    connection.send(Replies.error(e, persistence, withBody));
    if (persistence == Persistence.CLOSE || e.framingLost()) {
      connection.closeAfterReplies();
    }
  }
}
