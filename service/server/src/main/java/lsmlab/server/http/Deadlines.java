package lsmlab.server.http;

/**
 * The time limits of a connection: what it is waiting for, since when, and whether that is overdue.
 *
 * <p>Written under the session's monitor. {@link #overdue} is called without the monitor, because a request that runs
 * on the selector's thread holds it. The caller must check again under the monitor before it ends the connection.
 */
final class Deadlines {

  /** A connection that has had no request for longer than this is closed. */
  static final long IDLE_MILLIS_MAX = 600_000;

  /** A request that has not arrived completely within this time gets 408. */
  static final long REQUEST_MILLIS_MAX = 30_000;

  /**
   * The connection of a client that reads less than {@link #READER_BYTES_MIN} of a waiting response in this time is
   * closed.
   */
  static final long READER_MILLIS = 30_000;

  private static final long READER_BYTES_MIN = 16 * 1024;

  /** After the last response on a connection, bytes that arrive are read and dropped for this long. */
  private static final long LINGER_MILLIS_MAX = 5_000;

  /** Replaces {@link #LINGER_MILLIS_MAX} while the server stops. */
  private static final long STOP_LINGER_MILLIS = 100;

  private static final long ORIGIN_NANOS = System.nanoTime();

  /** The part of a connection's work that has taken too long. */
  enum Overdue {
    NOTHING,
    REQUEST,
    READER,
    LINGERING,
    IDLE
  }

  /**
   * When the first byte of an incomplete request arrived, in terms of {@link #now}; 0 if no request is incomplete.
   */
  private volatile long requestSince;

  /** When the current wait for the client to read a response began; 0 if no response waits. */
  private volatile long readerSince;

  private volatile long lingeringSince;

  /** When the connection was last used. Written without a barrier at each event, since a late reader does no harm. */
  private long usedAt = now();

  /** Total number of bytes sent. */
  private long sent;

  /** Value of {@link #sent} when {@link #readerSince} was set. */
  private long sentBefore;

  /**
   * Starts the time limit of an idle connection.
   *
   * @param nanos the time in terms of {@link System#nanoTime}
   */
  void used(long nanos) {
    usedAt = millis(nanos);
  }

  /** Starts the time limit for a request of which a byte has arrived, unless it is already running. */
  void requestBegins() {
    if (requestSince == 0) {
      requestSince = now();
    }
  }

  /** Starts the time limit again, for the rest of a request. */
  void requestContinues() {
    requestSince = now();
  }

  /** Stops the time limit, because no request is incomplete. */
  void requestEnds() {
    requestSince = 0;
  }

  boolean isRequestIncomplete() {
    return requestSince != 0;
  }

  /** Sets whether a response, or the next part of one, waits for the client to read. */
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

  /** Adds the number of bytes that the socket has accepted. */
  void sent(int bytes) {
    sent += bytes;
  }

  /** Whether the client has read too little since the wait began. If it has read enough, starts a new wait. */
  boolean isReaderTooSlow(long nowMillis) {
    if (sent - sentBefore < READER_BYTES_MIN) {
      return true;
    }
    sentBefore = sent;
    readerSince = nowMillis;
    return false;
  }

  /** Starts the time for which input is dropped after the last response. */
  void lingers() {
    assert readerSince == 0 && lingeringSince == 0 : "lingering follows the last response, once";
    lingeringSince = now();
  }

  /** Whether a stopping server may close the connection without waiting for the client's last bytes. */
  boolean hasLingeredForStop() {
    return lingeringSince < now() - STOP_LINGER_MILLIS;
  }

  /**
   * Returns what has taken too long, if anything.
   *
   * @param inFlight whether a request is in flight, so that the connection is not idle
   */
  Overdue overdue(long nowMillis, boolean inFlight) {
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
    return !inFlight && usedAt < nowMillis - IDLE_MILLIS_MAX ? Overdue.IDLE : Overdue.NOTHING;
  }

  /** Returns milliseconds of a clock that nobody can set, 1 or more. */
  static long now() {
    return millis(System.nanoTime());
  }

  private static long millis(long nanos) {
    return 1 + (nanos - ORIGIN_NANOS) / 1_000_000;
  }
}
