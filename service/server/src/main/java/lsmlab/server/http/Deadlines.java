package lsmlab.server.http;

/**
 * The time limits of a connection: for what it waits, since when, and whether that is overdue.
 *
 * <p>Written under the session's monitor. {@link #overdue} is called without it, because a request that runs on the
 * selector's thread holds it. The caller must check again under the monitor before it ends the connection.
 */
final class Deadlines {

  /** A connection without a request for longer than this is closed. */
  static final long IDLE_MILLIS_MAX = 600_000;

  /** A request that has not arrived completely after this time is answered 408. */
  static final long REQUEST_MILLIS_MAX = 30_000;

  /** A client that reads less than {@link #READER_BYTES_MIN} of a waiting response in this time is closed. */
  static final long READER_MILLIS = 30_000;

  private static final long READER_BYTES_MIN = 16 * 1024;

  /** Bytes that arrive after the end of a connection are read and dropped for this long. */
  private static final long LINGER_MILLIS_MAX = 5_000;

  /** The same limit while the server stops. */
  private static final long STOP_LINGER_MILLIS = 100;

  /** The wait that is overdue. */
  enum Overdue {
    NOTHING,
    REQUEST,
    READER,
    LINGERING,
    IDLE
  }

  /** When the first byte of an incomplete request arrived, in milliseconds of the day; 0 if there is none. */
  private volatile long requestSince;

  /** When the current wait for the client to take a response began; 0 if no response waits. */
  private volatile long readerSince;

  private volatile long lingeringSince;

  /** Total of bytes sent. */
  private long sent;

  /** {@link #sent} when {@link #readerSince} was set. */
  private long sentBefore;

  /** A byte of a request has arrived; the first one counts. */
  void requestBegins() {
    if (requestSince == 0) {
      requestSince = now();
    }
  }

  /** Starts the time limit for the rest of a request. */
  void requestBeginsAnew() {
    requestSince = now();
  }

  /** No request is incomplete. */
  void requestEnds() {
    requestSince = 0;
  }

  boolean isRequestIncomplete() {
    return requestSince != 0;
  }

  /** Notes whether a response, or the next part of one, waits for the client to read. */
  void awaitReader(boolean waits) {
    if (!waits) {
      readerSince = 0;
    } else if (readerSince == 0) {
      readerSince = now();
      sentBefore = sent;
    }
  }

  boolean isReaderAwaited() {
    return readerSince != 0;
  }

  /** Notes the number of bytes that the socket took. */
  void sent(int bytes) {
    sent += bytes;
  }

  /** Whether the client has read too little since the wait began. If it has read enough, a new wait begins. */
  boolean isReaderTooSlow(long nowMillis) {
    if (sent - sentBefore < READER_BYTES_MIN) {
      return true;
    }
    sentBefore = sent;
    readerSince = nowMillis;
    return false;
  }

  /** Everything is sent; later input is dropped. */
  void lingers() {
    lingeringSince = now();
  }

  /** Whether a server that stops may leave out this client's last bytes. */
  boolean hasLingeredForStop() {
    return lingeringSince < now() - STOP_LINGER_MILLIS;
  }

  /**
   * Returns what has taken too long.
   *
   * @param idleSince when the connection was last used; {@link Long#MAX_VALUE} while a request is in flight
   */
  Overdue overdue(long nowMillis, long idleSince) {
    long request = requestSince;
    long reader = readerSince;
    long lingering = lingeringSince;
    if (lingering != 0) {
      return lingering < nowMillis - LINGER_MILLIS_MAX ? Overdue.LINGERING : Overdue.NOTHING;
    }
    if (reader != 0) {
      return reader < nowMillis - READER_MILLIS ? Overdue.READER : Overdue.NOTHING;
    }
    if (request != 0) {
      return request < nowMillis - REQUEST_MILLIS_MAX ? Overdue.REQUEST : Overdue.NOTHING;
    }
    return idleSince < nowMillis - IDLE_MILLIS_MAX ? Overdue.IDLE : Overdue.NOTHING;
  }

  private static long now() {
    return System.currentTimeMillis();
  }
}
