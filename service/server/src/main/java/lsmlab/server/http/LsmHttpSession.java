package lsmlab.server.http;

import java.io.IOException;
import lsmlab.server.metrics.Method;
import one.nio.http.Response;
import one.nio.net.SelectableJavaSocket;
import one.nio.net.Socket;
import one.nio.net.SocketClosedException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One client's connection, run by one-nio, with limits on the memory that a client can make the server use. {@link
 * InputSession} is its receiving half; this class sends responses, decides what to wait for next, and ends the
 * connection.
 *
 * <p><b>Turns.</b> While a request is in flight or a response waits for the socket, no request is parsed. The thread
 * that sends the response makes the selector's thread continue with the input that was kept ({@link #listenForNext}).
 *
 * <p><b>The end.</b> After a response that ends the connection, only the sending direction is closed. Later input is
 * read and dropped for a while, see {@link HalfClose}. Only the selector's thread closes a Java socket: the library's
 * Java selector dies if another thread cancels a key that it is using.
 *
 * <p><b>Locks.</b> All fields are guarded by this object's monitor, which the library takes too.
 */
final class LsmHttpSession extends InputSession {

  private static final Logger log = LoggerFactory.getLogger(LsmHttpSession.class);

  /** The stages in which a connection ends. */
  private enum End {
    OPEN,
    /** All responses have been sent; input is dropped. */
    LINGERING,
    /** Waiting responses have been dropped; the selector's thread will close the socket. */
    ENDED,
    CLOSED
  }

  /**
   * Whether the selector's thread is in {@link #process}. A thread that holds the lock and reads true is that thread.
   */
  private boolean onSelector;

  /** Whether the last request was refused because of overload, so that the next one waits for {@link #endHoldOff}. */
  private boolean heldOff;

  /**
   * A range whose last buffer has been given to the socket. It is submitted again once the socket has accepted all of
   * it.
   */
  private Exchange range;

  /** Whether the variant has the range at the moment. */
  private boolean rangeSubmitted;

  private End end = End.OPEN;
  private long lingerBytes;

  LsmHttpSession(Socket socket, LsmHttpServer server) {
    super(socket, server);
  }

  // ---- from the selector

  @Override
  public synchronized void process(byte[] buffer) {
    if (end == End.CLOSED) { // after it was selected
      return;
    }
    onSelector = true;
    deadlines.used(wokenUpNanos());
    try {
      if (end == End.ENDED) {
        close();
        return;
      }
      super.process(buffer);
      consumeHeld();
      continueRange();
      listenForNext();
    } catch (Throwable e) {
      handleException(e);
    } finally {
      onSelector = false;
    }
  }

  @Override
  boolean blocked() {
    return handling != null || queueHead != null || heldOff || isInputEnded();
  }

  private boolean hasEnded() {
    return end.compareTo(End.ENDED) >= 0;
  }

  /** Listens for the event that lets this session continue. Any thread that holds the lock may call this. */
  private void listenForNext() {
    assert Thread.holdsLock(this);
    if (hasEnded() || selector == null) {
      return;
    }
    deadlines.awaitReader(waitsForSocket());
    if (waitsForSocket() || isInputHeld() && !blocked()) {
      listen(WRITEABLE);
    } else if (isInputEnded()) {
      linger();
      listen(READABLE);
    } else {
      listen(blocked() && (isInputPaused() || range != null) ? 0 : READABLE);
    }
  }

  /** Listens for the next event, unless this is the selector's thread, which does so at the end of {@link #process}. */
  private void resume() {
    if (!onSelector) {
      listenForNext();
    }
  }

  /** Whether a response, or the next part of a range, waits for the client to read what was sent before. */
  private boolean waitsForSocket() {
    return queueHead != null || range != null && !rangeSubmitted;
  }

  @Override
  protected void processRead(byte[] buffer) throws IOException {
    if (end == End.LINGERING) {
      dropInput(buffer);
    } else {
      super.processRead(buffer);
    }
  }

  @Override
  protected void processWrite() throws Exception {
    if (queueHead != null) { // else another thread has called for this one
      super.processWrite();
    }
  }

  private void continueRange() {
    if (range != null && !rangeSubmitted && queueHead == null && !hasEnded()) {
      rangeSubmitted = true;
      range.resubmitted();
      lsm.submit(range);
    }
  }

  // ---- responses

  /**
   * Sends the response to the request in flight. Does nothing if the connection has ended, or the request has already
   * been answered.
   *
   * @param turnedAway whether the request was refused because of overload
   */
  synchronized void answer(LsmHttpRequest request, Response response, boolean turnedAway)
      throws IOException {
    request.release();
    if (handling != request || hasEnded()) {
      return;
    }
    if (lsm.stopping()) {
      request.close();
    }
    sendResponse(response);
    if (isDroppingBody()) {
      deadlines.requestContinues();
    }
    heldOff = turnedAway && !isInputEnded() && lsm.holdOff(this);
    resume();
  }

  /**
   * Sends the next buffer of a range. Closes the range instead if the connection has ended, or the request has already
   * been answered.
   */
  synchronized void answer(Exchange exchange, LsmHttpRequest request, StreamedRange part)
      throws IOException {
    assert range == null ? !rangeSubmitted : rangeSubmitted && range == exchange
        : "the variant has sent a part of a range that it did not have";
    rangeSubmitted = false;
    if (handling != request || hasEnded()) {
      part.end();
      return;
    }
    boolean last = part.isLast();
    range = last ? null : exchange;
    write(part);
    if (last) {
      lsm.incRequestsProcessed();
      handling = null;
      if (request.isLast() || lsm.stopping()) {
        scheduleClose();
      }
    }
    resume();
  }

  @Override
  protected void writeResponse(Response response, boolean includeBody) throws IOException {
    assert queueHead == null && range == null : "another response has not been written yet";
    write(
        new QueuedResponse(
            Responses.toBytes(response, includeBody), deadlines, lsm.responseMemory()));
  }

  @Override
  void refuseAndEnd(HttpRefusal why) throws IOException {
    boolean head = parsing != null && parsing.getMethod() == LsmHttpRequest.METHOD_HEAD;
    lsm.refused(Method.OTHER, why);
    Response response = Responses.refusal(why);
    response.addHeader("Connection: close");
    writeResponse(response, !head);
    scheduleClose();
  }

  /** Continues with the next request after a pause. */
  synchronized void endHoldOff() {
    heldOff = false;
    resume();
  }

  // ---- limits in time

  /** Ends the connection if its client has exceeded a time limit. */
  void check(long nowMillis) {
    switch (deadlines.overdue(nowMillis, handling != null)) {
      case REQUEST -> timeOut();
      case READER -> closeIfReaderIsTooSlow(nowMillis);
      case LINGERING, IDLE -> close();
      case NOTHING -> {
        // the usual case
      }
    }
  }

  private synchronized void closeIfReaderIsTooSlow(long nowMillis) {
    if (waitsForSocket() && deadlines.isReaderTooSlow(nowMillis)) {
      close();
    }
  }

  private synchronized void timeOut() {
    if (!deadlines.isRequestIncomplete() || blocked()) {
      return;
    }
    if (isDroppingBody()) {
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

  /** Whether a request is in flight or a response is waiting. */
  boolean isBusy() {
    return handling != null || deadlines.isReaderAwaited();
  }

  // ---- the end

  /** Takes no more requests, and ends the connection once all responses have been sent. */
  @Override
  public synchronized void scheduleClose() {
    endInput();
    resume();
  }

  /** Closes the connection if no request is in flight and no response is waiting. */
  synchronized void closeIfIdle() {
    if (!isBusy() && (end != End.LINGERING || deadlines.hasLingeredForStop())) {
      close();
    }
  }

  /** Closes the connection after the selector's thread has ended. */
  synchronized void closeAfterSelector() {
    onSelector = true;
    close();
  }

  private void linger() {
    if (end == End.OPEN) {
      assert queueHead == null && range == null : "a response has not been written yet";
      end = End.LINGERING;
      deadlines.lingers();
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
    if (lingerBytes > DROPPED_BYTES_MAX) {
      close();
    }
  }

  /** Ends the connection at once and drops waiting responses. */
  @Override
  public synchronized void close() {
    if (!hasEnded()) {
      end = End.ENDED;
      endInput();
      deadlines.awaitReader(false);
      if (parsing instanceof LsmHttpRequest request) {
        request.release();
      }
      handling = null;
      if (range != null && !rangeSubmitted) {
        range.endRange();
      }
      QueueItem.releaseChain(queueHead);
      queueHead = null;
      if (isLeftToSelector()) {
        HalfClose.output(socket);
        HalfClose.input(socket); // which wakes the selector's thread up, see process()
        listen(READABLE);
      }
    }
    if (isLeftToSelector()) { // also when close() is called again before that thread has done it
      return;
    }
    super.close();
    if (end != End.CLOSED) {
      end = End.CLOSED;
      lsm.sessionClosed(this);
    }
  }

  /** Whether the socket must be closed by the selector's thread, which is not this thread. */
  private boolean isLeftToSelector() {
    return !onSelector && socket instanceof SelectableJavaSocket && selector != null;
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

  /** Returns when the selector last woke up, in {@link System#nanoTime} terms. */
  long wokenUpNanos() {
    return selector.lastWakeupTime();
  }
}
