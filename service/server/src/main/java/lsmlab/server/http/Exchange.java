package lsmlab.server.http;

import lsmlab.server.metrics.Method;
import lsmlab.server.metrics.Recorder;
import lsmlab.server.request.Rejection;
import lsmlab.server.request.Request;
import lsmlab.storage.OverloadedException;
import lsmlab.storage.ReadOnlyException;
import lsmlab.storage.ScanEndedException;
import lsmlab.storage.ValueSink;
import lsmlab.storage.WriteBatch;
import one.nio.http.Response;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A parsed request on its way through the variant, and its response.
 *
 * <p>A range is submitted again for each of its buffers, see {@link StreamedRange}. A range whose response has begun
 * cannot be rejected: the thread that would reject it executes it instead.
 */
final class Exchange implements Request {

  private static final Logger log = LoggerFactory.getLogger(Exchange.class);

  private static final LogLimit FAILURES = new LogLimit();

  private final LsmHttpSession session;
  private final LsmHttpServer server;
  private final LsmHttpRequest request;
  private final boolean counted;
  private Response response;
  private boolean turnedAway;
  private StreamedRange range;
  private boolean rangeBegun;
  private Throwable rangeFailure;

  private long arrivedNanos;
  private final long submittedNanos = System.nanoTime();
  private long startedNanos;
  private long executedNanos;

  /**
   * Makes an exchange that is about to be submitted.
   *
   * @param arrivedNanos when the selector woke up for the request, in {@link System#nanoTime} terms
   */
  Exchange(
      LsmHttpSession session, LsmHttpServer server, LsmHttpRequest request, long arrivedNanos) {
    this.session = session;
    this.server = server;
    this.request = request;
    this.arrivedNanos = arrivedNanos;
    this.counted = server.metrics().countsRequests();
  }

  // ---- the storage

  @Override
  public void execute() {
    if (rangeBegun) {
      continueRange();
      return;
    }
    assert response == null && range == null : "the request is executed twice";
    startedNanos = System.nanoTime();
    try {
      perform();
      if (response == null && range == null) {
        throw new IllegalStateException(
            "the engine has found a value and not passed it to the sink");
      }
    } catch (Throwable e) {
      fail(e);
    }
    executedNanos = System.nanoTime();
  }

  private void perform() {
    byte[] key = request.key();
    switch (request.kind()) {
      case GET -> get(key);
      case PUT -> {
        byte[] value = request.getBody();
        server.engine().put(key, 0, key.length, value, 0, value.length);
        response = Responses.empty(Response.CREATED);
      }
      case DELETE -> {
        server.engine().delete(key, 0, key.length);
        response = Responses.empty(Response.ACCEPTED);
      }
      case RANGE -> range();
      case OTHER -> throw new AssertionError("a request of kind OTHER was submitted");
    }
  }

  private void get(byte[] key) {
    boolean found =
        server
            .engine()
            .get(
                key,
                0,
                key.length,
                (source, offset, length) ->
                    response =
                        server.responseMemory().hasRoomFor(length)
                            ? Responses.value(ValueSink.copy(source, offset, length))
                            : turnedAway(Rejection.REPLY_MEMORY));
    if (!found) {
      response = Responses.empty(Response.NOT_FOUND);
    }
  }

  private void range() {
    if (!server.responseMemory().hasRoomFor(StreamedRange.BYTES_MAX)) {
      response = turnedAway(Rejection.REPLY_MEMORY);
      return;
    }
    Response head = new Response(Response.OK);
    head.addHeader(Responses.OPAQUE);
    head.addHeader("Transfer-Encoding: chunked");
    if (request.isHead()) {
      server.engine().scan(request.key(), request.end()).close();
      response = head;
      return;
    }
    // Does what sendResponse does; that method cannot send ranges.
    head.addHeader(request.isLast() ? "Connection: close" : "Connection: Keep-Alive");
    range =
        new StreamedRange(
            server.engine().scan(request.key(), request.end()),
            Responses.toBytes(head, false),
            session.deadlines,
            server.responseMemory());
    range.fill();
  }

  private Response turnedAway(Rejection why) {
    server.metrics().reject(why);
    turnedAway = true;
    return Responses.unavailable();
  }

  /** Prepares the error response to a request whose execution failed. */
  private void fail(Throwable why) {
    if (range != null) {
      range.end();
      range = null;
    }
    switch (why) {
      case OverloadedException e -> response = turnedAway(Rejection.WRITES_HELD_BACK);
      case ReadOnlyException e -> unavailable(Rejection.READ_ONLY, e);
      case ScanEndedException e -> unavailable(Rejection.SCAN_ENDED, e);
      default -> {
        if (FAILURES.allows()) {
          log.error("{} failed; failures of the next 10 s are not logged", request.kind(), why);
        }
        response = Responses.text(Response.INTERNAL_ERROR, "internal error, see the service's log");
      }
    }
  }

  private void unavailable(Rejection why, RuntimeException reason) {
    server.metrics().reject(why);
    response = Responses.unavailable(String.valueOf(reason.getMessage()));
  }

  private void continueRange() {
    try {
      range.fill();
    } catch (Throwable e) {
      rangeFailure = e;
    }
  }

  @Override
  public void addTo(WriteBatch batch) {
    byte[] key = request.key();
    switch (request.kind()) {
      case PUT -> batch.put(key, 0, key.length, request.getBody(), 0, request.getBody().length);
      case DELETE -> batch.delete(key, 0, key.length);
      default -> throw new IllegalStateException(request.kind() + " is not a write");
    }
    startedNanos = System.nanoTime();
  }

  @Override
  public void executed(Throwable failure) {
    if (failure == null) {
      response =
          Responses.empty(request.kind() == Method.PUT ? Response.CREATED : Response.ACCEPTED);
    } else {
      fail(failure);
    }
    executedNanos = System.nanoTime();
  }

  // ---- the response

  @Override
  public void send() {
    if (rangeBegun) {
      sendMore();
      return;
    }
    assert (response == null) != (range == null) : "the request has not been executed";
    int status = 200;
    long arrived = arrivedNanos; // set again when a range is submitted again
    try {
      if (range != null) {
        rangeBegun = true;
        session.answer(this, request, range);
      } else {
        status = response.getStatus();
        session.answer(request, response, turnedAway);
      }
    } catch (Throwable e) {
      abandon(e);
    }
    if (counted) {
      Recorder recorder = server.metrics().recorder();
      recorder.count(request.kind(), status);
      recorder.time(
          request.kind(), arrived, submittedNanos, startedNanos, executedNanos, System.nanoTime());
    }
  }

  private void sendMore() {
    try {
      if (rangeFailure == null) {
        session.answer(this, request, range);
      } else {
        server.metrics().rangeCutOff();
        if (rangeFailure instanceof ScanEndedException) {
          log.info("a range was cut off: {}", rangeFailure.getMessage());
        } else if (FAILURES.allows()) {
          log.error("a range was cut off because the storage failed", rangeFailure);
        }
        range.end();
        session.close();
      }
    } catch (Throwable e) {
      abandon(e);
    }
  }

  /** Ends the connection because the request cannot be answered. */
  void abandon(Throwable why) {
    session.abandon(request, why);
  }

  @Override
  public void reject(Rejection why) {
    if (rangeBegun) {
      run();
      return;
    }
    assert response == null && range == null : "the request is rejected after its execution";
    startedNanos = System.nanoTime();
    executedNanos = startedNanos;
    response = turnedAway(why);
    send();
  }

  /**
   * Resets the arrival time, because a buffer of the range has been written and the range is submitted again for the
   * next one.
   */
  void resubmitted() {
    assert rangeBegun && rangeFailure == null;
    arrivedNanos = System.nanoTime();
  }

  /** Closes the range, because the session has ended while no thread executes the range. */
  void endRange() {
    range.end();
  }

  @Override
  public Kind kind() {
    return switch (request.kind()) {
      case GET -> Kind.GET;
      case PUT -> Kind.PUT;
      case DELETE -> Kind.DELETE;
      case RANGE -> Kind.RANGE;
      case OTHER -> throw new AssertionError("a request of kind OTHER was submitted");
    };
  }

  @Override
  public int keyHash() {
    int hash = 0;
    for (byte b : request.key()) {
      hash = 31 * hash + b;
    }
    hash *= 0x9e3779b9;
    return hash ^ hash >>> 16;
  }

  @Override
  public long arrivedNanos() {
    return arrivedNanos;
  }
}
