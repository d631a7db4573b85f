package lsmlab.server.http;

/**
 * What a connection waits for, since when, and whether that has taken too long.
 *
 * <p>Written under the session's monitor. {@link #overdue} is called without it, because a request that runs on the
 * selector's thread holds it: whoever ends a connection for what this class says looks again under the monitor.
 */
final class Deadlines {

  /** A connection without a request for longer is closed. */
  static final long IDLE_MILLIS_MAX = 600_000;

  /** A request that has not arrived completely after that time is answered 408. */
  static final long REQUEST_MILLIS_MAX = 30_000;

  /** A client takes at least {@link #READER_BYTES_MIN} of a waiting response in this time, or is closed. */
  static final long READER_MILLIS = 30_000;

  private static final long READER_BYTES_MIN = 16 * 1024;

  /** What a client sends after the end of its connection is read and dropped for that long. */
  private static final long LINGER_MILLIS_MAX = 5_000;

  /** As {@link #LINGER_MILLIS_MAX}, while the server stops. */
  private static final long STOP_LINGER_MILLIS = 100;

  /** What may take too long; one at a time. */
  enum Overdue {
    NOTHING,
    REQUEST,
    READER,
    LINGERING,
    IDLE
  }

  /** When the first byte of an incomplete request arrived, in milliseconds of the day; 0 if there is none. */
  private volatile long requestSince;

  /** When the present wait for the client to take a response began; 0 if none waits. */
  private volatile long readerSince;

  private volatile long lingeringSince;

  /** Bytes sent in all. */
  private long sent;

  /** {@link #sent} when {@link #readerSince} was set. */
  private long sentBefore;

  /** A byte of a request is there; the first one counts. */
  void requestBegins() {
    if (requestSince == 0) {
      requestSince = now();
    }
  }

  /** The time for what is left of a request begins now. */
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

  /** Notes that the socket took so many bytes. */
  void sent(int bytes) {
    sent += bytes;
  }

  /** Whether the client has taken too little since the wait for it began; if not, another wait begins. */
  boolean isReaderTooSlow(long nowMillis) {
    if (sent - sentBefore < READER_BYTES_MIN) {
      return true;
    }
    sentBefore = sent;
    readerSince = nowMillis;
    return false;
  }

  /** All is sent; what still arrives is dropped. */
  void lingers() {
    lingeringSince = now();
  }

  /** Whether a server that stops need not wait for this client's last bytes. */
  boolean hasLingeredForStop() {
    return lingeringSince < now() - STOP_LINGER_MILLIS;
  }

  /**
   * Says what has taken too long.
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
