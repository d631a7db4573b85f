package lsmlab.server.http;

import java.io.IOException;
import lsmlab.server.metrics.Method;
import lsmlab.server.request.Rejection;
import one.nio.http.HttpException;
import one.nio.http.HttpSession;
import one.nio.http.Response;
import one.nio.net.Socket;
import one.nio.net.SocketClosedException;

/**
 * The receiving half of a connection: turns bytes into requests, one at a time.
 *
 * <p>The library parses all input and hands each complete request to the server. This class stops the parsing while the
 * session is {@link #blocked}, and keeps the bytes that have been read by then, at most those of one read. Later input
 * stays in the kernel, so that TCP slows the client down. This way requests are parsed only on the selector's thread,
 * pipelines of any length take no stack, and a client that does not read its responses is not served.
 *
 * <p>All fields are guarded by this object's monitor.
 */
abstract class InputSession extends HttpSession {

  /** A refused body of at most this size is read and dropped, so that the connection can continue. */
  static final long DROPPED_BYTES_MAX = 64L * 1024 * 1024;

  /** Number of bytes read at a time while requests use more than half of their memory budget. */
  private static final int SHORT_READ_BYTES = 4096;

  /** Thrown to end the parsing of the current input, see {@link #parseRequest}. */
  @SuppressWarnings("StaticAssignmentOfThrowable") // it has neither a stack trace nor a state
  private static final HttpException BLOCKED =
      new HttpException("parsing stops here", null) {
        private static final long serialVersionUID = 1L;

        @Override
        @SuppressWarnings("UnsynchronizedOverridesSynchronized")
        public Throwable fillInStackTrace() {
          return this;
        }
      };

  final LsmHttpServer lsm;
  final Deadlines deadlines = new Deadlines();

  /** Bytes that have been read but not parsed: held[0..heldBytes). */
  private byte[] held = Response.EMPTY;

  private int heldBytes;
  private int blockedAt;

  /** Number of remaining bytes of a body that is dropped. */
  private long toDrop;

  /** Whether input may have arrived that was not read. */
  private boolean readPaused;

  private boolean inputEnded;

  InputSession(Socket socket, LsmHttpServer server) {
    super(socket, server);
    lsm = server;
  }

  /** Whether parsing must wait now. */
  abstract boolean blocked();

  /** Answers a request whose end is unknown, and ends the connection. */
  abstract void refuseAndEnd(HttpRefusal why) throws IOException;

  // ---- bytes

  @Override
  protected void processRead(byte[] buffer) throws IOException {
    // Kept input comes first, even if this event was selected while a worker still answered.
    readPaused = blocked() || heldBytes > 0;
    if (readPaused) {
      return;
    }
    int length = fragmentLength;
    System.arraycopy(fragment, 0, buffer, 0, length);
    int room = buffer.length - length;
    try {
      length += read(buffer, length, lsm.requestMemory().isShort() ? SHORT_READ_BYTES : room);
    } catch (SocketClosedException e) {
      close(); // nothing is in flight, and what has begun will not be completed
      return;
    }
    if (parsing instanceof LsmHttpRequest request && parsing.getBody() == null) {
      request.linesFrom(buffer, 0);
    }
    if (length > fragmentLength) {
      deadlines.requestBegins();
    }
    consume(buffer, length);
  }

  /**
   * Parses data[0..length) until it is used up, a request is incomplete, or this session is blocked. Keeps the rest.
   */
  private void consume(byte[] data, int length) throws IOException {
    assert heldBytes == 0 : "the input that was kept comes first";
    int from = (int) Math.min(toDrop, length);
    toDrop -= from;
    int rest = length - from;
    fragmentLength = 0;
    if (from > 0) {
      System.arraycopy(data, from, data, 0, rest);
    }
    if (toDrop > 0) {
      return;
    }
    if (from > 0) {
      deadlines.requestEnds(); // what follows is another one
    }
    try {
      int parsed = rest == 0 ? 0 : processHttpBuffer(data, rest);
      rest -= parsed;
      if (rest > 0 && blocked()) { // whatever is wrong with it is answered in its turn
        hold(data, parsed, rest);
        return;
      }
      if (rest > fragment.length) {
        throw parsing == null ? LsmHttpRequest.lineTooLong() : LsmHttpRequest.headersTooLarge();
      }
      if (rest > 0 && data[parsed] == '\n') {
        // The library would take the byte for the first byte of a line.
        throw LsmHttpRequest.bareLineFeed();
      }
      System.arraycopy(data, parsed, fragment, 0, rest);
      fragmentLength = rest;
      if (rest > 0) {
        deadlines.requestBegins();
      }
    } catch (HttpRefusal e) {
      refuseAndEnd(e);
    } catch (HttpException e) {
      if (e != BLOCKED) {
        refuseAndEnd(HttpRefusal.closing(Response.BAD_REQUEST, String.valueOf(e.getMessage())));
      } else {
        hold(data, blockedAt, rest - blockedAt);
      }
    }
  }

  /** Keeps data[from..from+length) until this session can continue. */
  private void hold(byte[] data, int from, int length) {
    if (inputEnded) {
      return;
    }
    deadlines.requestEnds();
    if (data != held) {
      assert held.length == 0 : "the budget still counts other input";
      held = new byte[length];
      lsm.requestMemory().hold(length);
    }
    System.arraycopy(data, from, held, 0, length);
    heldBytes = length;
  }

  /** Parses the kept input until this session is blocked again. */
  final void consumeHeld() throws IOException {
    while (heldBytes > 0 && !blocked()) {
      int length = heldBytes;
      heldBytes = 0;
      consume(held, length);
      if (heldBytes == 0) {
        dropHeld();
      }
    }
  }

  private void dropHeld() {
    lsm.requestMemory().release(held.length);
    heldBytes = 0;
    held = Response.EMPTY;
  }

  final boolean isInputHeld() {
    return heldBytes > 0;
  }

  /** Whether input may be waiting that this session cannot take now. */
  final boolean isInputPaused() {
    return readPaused || heldBytes > 0;
  }

  /** Whether bytes of a dropped body are still to arrive. */
  final boolean isDroppingBody() {
    return toDrop > 0;
  }

  /** Ends the input: no further request is taken. */
  final void endInput() {
    inputEnded = true;
    deadlines.requestEnds();
    dropHeld();
  }

  final boolean isInputEnded() {
    return inputEnded;
  }

  // ---- callbacks from the library while it parses

  @Override
  protected LsmHttpRequest parseRequest(byte[] data, int start, int length) throws HttpException {
    if (blocked()) {
      blockedAt = start;
      throw BLOCKED;
    }
    deadlines.requestBegins();
    if (length > 0) {
      return LsmHttpRequest.parse(data, start, start + length, lsm.requestParsing());
    }
    if (data[start] != '\r') {
      throw LsmHttpRequest.bareLineFeed();
    }
    return null; // an empty line before a request is passed over (RFC 9112, 2.2)
  }

  @Override
  protected int getMaxRequestBodyLength() {
    return lsm.maxValueBytes();
  }

  /** Takes the beginning of a request's body, or starts to drop the body. Called when the head has a Content-Length. */
  @Override
  protected int startParsingRequestBody(String declared, byte[] data, int offset, int remaining)
      throws IOException, HttpException {
    LsmHttpRequest request = (LsmHttpRequest) parsing;
    request.endOfHead();
    long bytes = request.bodyBytes();
    if (request.refusal() == null && request.kind() == Method.PUT && makesRoom(request)) {
      if (request.expectsContinue() && remaining < bytes) {
        write(Responses.CONTINUE, 0, Responses.CONTINUE.length);
      }
      return super.startParsingRequestBody(declared, data, offset, remaining);
    }
    if (request.refusal() != null
        && bytes > 0
        && (bytes > DROPPED_BYTES_MAX || request.expectsContinue())) {
      request.close();
    }
    request.setBody(Response.EMPTY);
    assert toDrop == 0 : "the previous body has not been dropped yet";
    int dropped = (int) Math.min(remaining, bytes);
    toDrop = bytes - dropped;
    return dropped;
  }

  /** Reserves memory for the request's body. If that fails, refuses the request and returns false. */
  private boolean makesRoom(LsmHttpRequest request) {
    long bytes = request.bodyBytes();
    if (bytes > lsm.maxValueBytes()) {
      request.refuse(
          HttpRefusal.of(
              Response.REQUEST_ENTITY_TOO_LARGE,
              "the value has " + bytes + " bytes, the maximum is " + lsm.maxValueBytes()));
      return false;
    }
    if (!lsm.requestMemory().tryHold(bytes)) {
      lsm.metrics().reject(Rejection.REQUEST_MEMORY);
      request.refuse(
          HttpRefusal.withHeader(
              Response.SERVICE_UNAVAILABLE,
              Responses.RETRY_AFTER,
              "arriving requests use too much memory"));
      return false;
    }
    request.holds(lsm.requestMemory(), bytes);
    return true;
  }

  @Override
  protected void handleParsedRequest() throws IOException {
    LsmHttpRequest request = (LsmHttpRequest) parsing;
    request.endOfHead();
    if (request.kind() == Method.PUT && !request.hasLength()) {
      request.refuse(HttpRefusal.of(Response.LENGTH_REQUIRED, "a PUT needs Content-Length"));
    }
    if (toDrop == 0) {
      deadlines.requestEnds();
    }
    super.handleParsedRequest();
  }
}
