package lsmlab.server.http;

import java.io.IOException;
import lsmlab.server.metrics.Method;
import lsmlab.server.variant.Rejection;
import one.nio.http.HttpException;
import one.nio.http.HttpSession;
import one.nio.http.Response;
import one.nio.net.SelectableJavaSocket;
import one.nio.net.Socket;
import one.nio.net.SocketClosedException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One client's connection, as one-nio runs it, with bounds on what a client can make the server hold.
 *
 * <p><b>Requests.</b> The library parses what arrives and hands each complete request to the server. This class stops it
 * while a request is in flight or a response waits for the socket: what has been read by then is held, up to one read, and
 * what comes after stays in the kernel, so that TCP slows the client down. Whoever answers has the selector thread go on
 * with what is held ({@link #listenForNext}). So requests are parsed on the selector's thread only, pipelines of any
 * length take no stack, and a client that does not read is not served.
 *
 * <p><b>The end.</b> After a response that ends the connection only the sending direction is closed; what still arrives is
 * read and dropped for a while, see {@link HalfClose}. A Java socket is closed by its selector's thread only: the library's
 * Java selector dies of a key that is cancelled by another thread while it looks at it.
 *
 * <p><b>Locks.</b> All fields are guarded by this object's monitor, which the library takes too; volatile ones are read by
 * {@link #check} without it, because a request that runs on the selector's thread holds it.
 */
final class LsmHttpSession extends HttpSession {

  private static final Logger log = LoggerFactory.getLogger(LsmHttpSession.class);

  /** A refused body of up to this many bytes is read and dropped, so that the connection can go on. */
  private static final long DROPPED_BYTES_MAX = 64L * 1024 * 1024;

  /** Bytes read at a time while requests hold more memory than they should. */
  private static final int SHORT_READ_BYTES = 4096;

  /** As {@link LsmHttpServer#LINGER_MILLIS_MAX}, while the server stops. */
  private static final long STOP_LINGER_MILLIS = 100;

  /** Ends the parsing of one read, see {@link #parseRequest}. */
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

  private final LsmHttpServer lsm;

  /** The selector's thread is in {@link #process}, and so is whoever sees this under the lock. */
  private boolean onSelector;

  /** Bytes that have been read and not been parsed: held[0..heldBytes). */
  private byte[] held = Response.EMPTY;

  private int heldBytes;
  private int blockedAt;

  /** Bytes to come that belong to a body nobody wants. */
  private long toDrop;

  /** Something may have arrived that was not read. */
  private boolean readPaused;

  /** The last request was turned away: the next one is not looked at before {@link #resume}. */
  private boolean heldOff;

  /** A range whose last buffer has been given to the socket; it is submitted again when the queue is empty. */
  private Exchange range;

  /** The range is with the variant. */
  private boolean rangeSubmitted;

  /** Takes no more requests; ends when the responses are sent. */
  private boolean ending;

  private boolean lingering;
  private long lingerBytes;

  /** The connection has ended; its socket is closed, or will be by the selector's thread. */
  private boolean ended;

  private boolean counted = true;

  /** When the first byte of an incomplete request arrived, in milliseconds of the day; 0 if there is none. */
  private volatile long requestSince;

  /** When the present wait for the client to take a response began; 0 if none waits. */
  private volatile long writeSince;

  /** Bytes sent in all, and when {@link #writeSince} was set. */
  private volatile long written;

  private volatile long writtenBefore;
  private volatile long lingeringSince;

  LsmHttpSession(Socket socket, LsmHttpServer server) {
    super(socket, server);
    lsm = server;
  }

  // ---- from the selector

  @Override
  public synchronized void process(byte[] buffer) {
    if (!counted) {
      return; // closed after it was selected
    }
    onSelector = true;
    try {
      if (ended) {
        close();
        return;
      }
      super.process(buffer);
      while (heldBytes > 0 && !blocked()) {
        consumeHeld();
      }
      carryOnRange();
      listenForNext();
    } catch (Throwable e) {
      handleException(e);
    } finally {
      onSelector = false;
    }
  }

  /** Whether no request may be parsed now. */
  private boolean blocked() {
    return handling != null || queueHead != null || heldOff || ending || ended;
  }

  /** Listens to what can let this session go on, on whichever thread that has become clear. */
  private void listenForNext() {
    if (ended || selector == null) {
      return;
    }
    if (!waitsForSocket()) {
      writeSince = 0;
    } else if (writeSince == 0) {
      writeSince = now();
      writtenBefore = written;
    }
    if (waitsForSocket() || heldBytes > 0 && !blocked()) {
      listen(WRITEABLE);
    } else if (ending) {
      linger();
      listen(READABLE);
    } else {
      listen(blocked() && (readPaused || heldBytes > 0 || range != null) ? 0 : READABLE);
    }
  }

  /** Whether a response, or the next part of a range, waits for the client to take what was sent before. */
  private boolean waitsForSocket() {
    return queueHead != null || range != null && !rangeSubmitted;
  }

  @Override
  protected void processWrite() throws Exception {
    if (queueHead != null) { // else another thread has called for this one
      super.processWrite();
    }
  }

  private void carryOnRange() {
    if (range != null && !rangeSubmitted && queueHead == null && !ended) {
      rangeSubmitted = true;
      range.resubmitted();
      lsm.submit(range);
    }
  }

  @Override
  protected void processRead(byte[] buffer) throws IOException {
    if (lingering) {
      dropInput(buffer);
      return;
    }
    // What is held comes first, even if this event was selected before a worker's answer ended the
    // wait.
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
    if (length > fragmentLength && requestSince == 0) {
      requestSince = now();
    }
    consume(buffer, length);
  }

  /** Parses data[0..length) as far as it is complete and this session is not blocked, and keeps the rest. */
  private void consume(byte[] data, int length) throws IOException {
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
      requestSince = rest > 0 ? now() : 0;
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
        throw LsmHttpRequest
            .bareLineFeed(); // the library would take it for the first byte of a line
      }
      System.arraycopy(data, parsed, fragment, 0, rest);
      fragmentLength = rest;
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

  /** Keeps data[from..from+length) for when this session can go on. */
  private void hold(byte[] data, int from, int length) {
    if (ending) {
      return;
    }
    requestSince = 0;
    if (data != held) {
      held = new byte[length];
      lsm.requestMemory().hold(length);
    }
    System.arraycopy(data, from, held, 0, length);
    heldBytes = length;
  }

  private void consumeHeld() throws IOException {
    int length = heldBytes;
    heldBytes = 0;
    consume(held, length);
    if (heldBytes == 0) {
      dropHeld();
    }
  }

  private void dropHeld() {
    lsm.requestMemory().release(held.length);
    heldBytes = 0;
    held = Response.EMPTY;
  }

  // ---- what the library asks while it parses

  @Override
  protected LsmHttpRequest parseRequest(byte[] data, int start, int length) throws HttpException {
    if (blocked()) {
      blockedAt = start;
      throw BLOCKED;
    }
    if (requestSince == 0) {
      requestSince = now();
    }
    if (length > 0) {
      return LsmHttpRequest.parse(data, start, start + length);
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

  /** The head has a Content-Length. Takes the beginning of the body, or has it dropped. */
  @Override
  protected int startParsingRequestBody(String declared, byte[] data, int offset, int remaining)
      throws IOException, HttpException {
    LsmHttpRequest request = (LsmHttpRequest) parsing;
    request.endOfHead();
    long bytes = request.bodyBytes();
    if (request.refusal() == null && request.kind() == Method.PUT) {
      if (bytes > lsm.maxValueBytes()) {
        request.refuse(
            HttpRefusal.of(
                Response.REQUEST_ENTITY_TOO_LARGE,
                "the value has " + bytes + " bytes, allowed are " + lsm.maxValueBytes()));
      } else if (lsm.requestMemory().tryHold(bytes)) {
        request.holds(lsm.requestMemory(), bytes);
        if (request.expectsContinue() && remaining < bytes) {
          write(Responses.CONTINUE, 0, Responses.CONTINUE.length);
        }
        return super.startParsingRequestBody(declared, data, offset, remaining);
      } else {
        lsm.metrics().reject(Rejection.REQUEST_MEMORY);
        request.refuse(
            HttpRefusal.withHeader(
                Response.SERVICE_UNAVAILABLE,
                Responses.RETRY_AFTER,
                "requests that arrive hold too much memory"));
      }
    }
    if (request.refusal() != null && bytes > 0) {
      if (bytes > DROPPED_BYTES_MAX || request.expectsContinue()) {
        request.close();
      }
    }
    request.setBody(Response.EMPTY);
    int dropped = (int) Math.min(remaining, bytes);
    toDrop = bytes - dropped;
    return dropped;
  }

  @Override
  protected void handleParsedRequest() throws IOException {
    LsmHttpRequest request = (LsmHttpRequest) parsing;
    request.endOfHead();
    if (request.kind() == Method.PUT && !request.hasLength()) {
      request.refuse(HttpRefusal.of(Response.LENGTH_REQUIRED, "a PUT needs Content-Length"));
    }
    if (toDrop == 0) {
      requestSince = 0;
    }
    super.handleParsedRequest();
  }

  // ---- responses

  /** Sends the response to the request in flight. Does nothing if the connection has ended, or it was answered before. */
  synchronized void answer(LsmHttpRequest request, Response response, boolean turnedAway)
      throws IOException {
    request.release();
    if (handling != request || ended) {
      return;
    }
    if (lsm.stopping()) {
      request.close();
    }
    sendResponse(response);
    if (toDrop > 0) {
      requestSince = now();
    }
    heldOff = turnedAway && !ending && lsm.holdOff(this);
    answered();
  }

  /** As the other form, for the next buffer of a range. */
  synchronized void answer(Exchange exchange, LsmHttpRequest request, StreamedRange part)
      throws IOException {
    rangeSubmitted = false;
    if (handling != request || ended) {
      part.end();
      return;
    }
    boolean last = part.isLast();
    range = last ? null : exchange;
    write(part);
    if (last) {
      lsm.incRequestsProcessed();
      handling = null;
      if ("close".equals(request.getHeader("Connection:")) || lsm.stopping()) {
        scheduleClose();
      }
    }
    answered();
  }

  private void answered() {
    if (!onSelector) {
      listenForNext();
    }
  }

  /** Says in a response that is not sent by {@code sendResponse} whether the connection goes on, as that does. */
  void addConnectionHeader(Response response, LsmHttpRequest request) {
    boolean close = "close".equals(request.getHeader("Connection:"));
    response.addHeader(close ? "Connection: close" : "Connection: Keep-Alive");
  }

  @Override
  protected void writeResponse(Response response, boolean includeBody) throws IOException {
    write(new QueuedResponse(response.toBytes(includeBody), this, lsm.responseMemory()));
  }

  /** Notes that the socket took so many bytes. */
  @SuppressWarnings("NonAtomicVolatileUpdate") // guarded by this object's monitor
  void progress(int bytes) {
    written += bytes;
  }

  /** Answers a request whose end is unknown, and ends the connection. */
  private void refuseAndEnd(HttpRefusal why) throws IOException {
    boolean head = parsing != null && parsing.getMethod() == LsmHttpRequest.METHOD_HEAD;
    lsm.refused(Method.OTHER, why);
    Response response = Responses.refusal(why);
    response.addHeader("Connection: close");
    writeResponse(response, !head);
    scheduleClose();
  }

  /** Looks at the next request, after a pause. */
  synchronized void resume() {
    heldOff = false;
    if (!onSelector) {
      listenForNext();
    }
  }

  // ---- limits in time

  /** Ends the connection if its client has been too slow, or silent for too long. */
  void check(long nowMillis) {
    long since = requestSince;
    long writing = writeSince;
    long lingerSince = lingeringSince;
    if (lingerSince != 0) {
      closeIf(lingerSince < nowMillis - LsmHttpServer.LINGER_MILLIS_MAX);
    } else if (writing != 0) {
      if (writing < nowMillis - LsmHttpServer.WRITE_MILLIS) {
        checkWriteRate(nowMillis);
      }
    } else if (since != 0) {
      if (since < nowMillis - LsmHttpServer.REQUEST_MILLIS_MAX) {
        timeOut();
      }
    } else {
      closeIf(handling == null && lastAccessTime < nowMillis - LsmHttpServer.IDLE_MILLIS_MAX);
    }
  }

  private void closeIf(boolean over) {
    if (over) {
      close();
    }
  }

  private synchronized void checkWriteRate(long nowMillis) {
    if (!waitsForSocket()) {
      return;
    }
    if (written - writtenBefore < LsmHttpServer.WRITE_BYTES_MIN) {
      close();
    } else {
      writtenBefore = written;
      writeSince = nowMillis;
    }
  }

  private synchronized void timeOut() {
    if (requestSince == 0 || blocked()) {
      return;
    }
    if (toDrop > 0) {
      close(); // the response has been sent
      return;
    }
    try {
      refuseAndEnd(
          HttpRefusal.closing(Response.REQUEST_TIMEOUT, "the request did not arrive in time"));
    } catch (IOException e) {
      handleException(e);
    }
  }

  /** Whether a request is in flight or a response waits. */
  boolean isBusy() {
    return handling != null || writeSince != 0;
  }

  // ---- the end

  /** Takes no more requests and ends the connection once the responses are sent. */
  @Override
  public synchronized void scheduleClose() {
    ending = true;
    requestSince = 0;
    dropHeld();
    if (!onSelector) {
      listenForNext();
    }
  }

  /** Closes the connection if no request is in flight and no response waits. */
  synchronized void closeIfIdle() {
    if (!isBusy() && (!lingering || lingeringSince < now() - STOP_LINGER_MILLIS)) {
      close();
    }
  }

  /** Closes the connection when there is no selector's thread any more. */
  synchronized void closeAfterSelector() {
    onSelector = true;
    close();
  }

  private void linger() {
    if (!lingering) {
      lingering = true;
      lingeringSince = now();
      HalfClose.output(socket);
    }
  }

  private void dropInput(byte[] buffer) throws IOException {
    try {
      lingerBytes += read(buffer, 0, buffer.length);
    } catch (SocketClosedException e) {
      close();
      return;
    }
    closeIf(lingerBytes > DROPPED_BYTES_MAX);
  }

  /** Ends the connection now: what waits is dropped. */
  @Override
  public synchronized void close() {
    if (!ended) {
      ended = true;
      ending = true;
      requestSince = 0;
      writeSince = 0;
      dropHeld();
      if (parsing instanceof LsmHttpRequest request) {
        request.release();
      }
      handling = null;
      if (range != null && !rangeSubmitted) {
        range.endRange();
      }
      QueueItem.releaseChain(queueHead);
      queueHead = null;
      if (!onSelector && socket instanceof SelectableJavaSocket && selector != null) {
        HalfClose.output(socket);
        HalfClose.input(socket); // which wakes the selector's thread up, see process()
        listen(READABLE);
        return;
      }
    }
    closeSocket();
  }

  private void closeSocket() {
    super.close();
    if (counted) {
      counted = false;
      lsm.sessionClosed(this);
    }
  }

  @Override
  public void handleException(Throwable e) {
    if (e instanceof IOException) {
      log.debug("connection lost: {}", e.toString());
    } else {
      log.error("connection closed after an error", e);
    }
    close();
  }

  /** Ends the connection because a request in flight cannot be answered. */
  synchronized void abandon(LsmHttpRequest request, Throwable why) {
    request.release();
    handleException(why);
  }

  /** When the selector last woke up, in {@link System#nanoTime} terms. */
  long wokenUpNanos() {
    return selector.lastWakeupTime();
  }

  private static long now() {
    return System.currentTimeMillis();
  }
}
