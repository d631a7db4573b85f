package lsmlab.server.http;

import java.io.IOException;
import java.util.Arrays;
import one.nio.net.Selector;
import one.nio.net.Session;
import one.nio.net.Socket;
import one.nio.net.SocketClosedException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One client's connection: takes requests out of its bytes and gives them to the variant, one at a time.
 *
 * <p><b>Protocol.</b> Bytes are parsed by the selector thread as they arrive. A complete request sets {@code inFlight}
 * and is submitted to the variant after the lock has been released, so that a worker which is faster than the selector
 * thread need not wait for it. Whatever arrives meanwhile is held, up to {@value HeldInput#BYTES_MAX} bytes, then reading
 * stops and TCP tells the client. {@link #complete} writes the reply; where pipelined bytes are held, the same thread
 * goes on with the next request, in a loop and not by recursion. While a reply waits for the socket no request is
 * taken: a client that does not read is not served.
 *
 * <p><b>Locks.</b> All fields are guarded by this object's monitor, which one-nio takes too, in {@code process},
 * {@code write} and {@code close}. Never held while the storage works.
 *
 * <p>{@link RequestReader} knows how requests look, {@link HeldInput} keeps bytes, {@link Exchange} runs a request; here is when
 * each may do so: a long file, because hand-off and reply are one state machine under one lock.
 */
final class Connection extends Session {

  private static final Logger log = LoggerFactory.getLogger(Connection.class);

  private final DataServer server;
  private final Exchange exchange;
  private final RequestReader requests;
  private final DirectSocket direct;
  private final HeldInput input = new HeldInput();

  /** A request is on its way from parser to reply. */
  private boolean inFlight;

  /** The exchange is complete and must be submitted by the thread that holds the lock, after releasing it. */
  private boolean ready;

  /** A thread is in {@link #dispatch}'s loop and will look for the next request itself. */
  private boolean dispatching;

  /** What the selector's thread has parsed and will submit is followed by more input; used by that thread alone. */
  private boolean gatheredWithMore;

  private boolean readPaused;

  /** The last request was turned away for overload: the next one is not looked at before {@link #resume}. */
  private boolean heldOff;

  private boolean inputClosed;
  private boolean counted = true;
  private long readNanos;

  Connection(Socket socket, DataServer server) {
    super(socket);
    this.server = server;
    this.exchange = new Exchange(this, server);
    this.requests = new RequestReader(this, server, exchange.asked());
    this.direct = new DirectSocket(socket);
  }

  // ---- from the selector
  // -------------------------------------------------------------------------------------------

  /** Notes who selects this connection; null for nobody any more. */
  void selectedBy(Selector by) {
    selector = by;
  }

  /** Notes what it is ready for, before {@link #process}. */
  void ready(int readyEvents) {
    events = readyEvents;
  }

  /** What it waits for. */
  int interest() {
    return eventsToListen & EVENT_MASK;
  }

  @Override
  @SuppressWarnings("UnsynchronizedOverridesSynchronized") // gathers after it has released the lock
  public void process(byte[] buffer) throws Exception {
    EventLoop loop = EventLoop.current();
    boolean submit;
    synchronized (this) {
      if (!socket.isOpen()) {
        return; // closed by another thread after this one was woken up
      }
      lastAccessTime = loop.turnMillis();
      handleEvents(buffer);
      submit = ready;
      ready = false;
      gatheredWithMore = submit && !input.isEmpty();
      if (gatheredWithMore) {
        dispatching = true;
      }
    }
    if (submit) {
      loop.gather(this);
    }
  }

  /** Submits what {@link #process}, called by the same loop before, has parsed. */
  void submitParsed() {
    boolean more = gatheredWithMore;
    submit();
    if (more) {
      dispatch(false);
    }
  }

  /** What one-nio's {@code process} does, for a connection without TLS. */
  private void handleEvents(byte[] buffer) throws Exception {
    if ((events & CLOSING) != 0) {
      close();
      return;
    }
    if ((events & WRITEABLE) != 0) {
      processWrite();
    }
    if ((events & READABLE) != 0) {
      processRead(buffer);
    }
  }

  private void submit() {
    EventLoop loop = EventLoop.current();
    long since = exchange.submitted(loop);
    if (loop == null) {
      server.variant().submit(exchange);
      return;
    }
    loop.submittingSince(since);
    server.variant().submit(exchange);
    loop.submittingSince(0);
  }

  @Override
  protected void processRead(byte[] buffer) throws IOException {
    readNanos = selector.lastWakeupTime();
    if (input.isEmpty()) {
      int count = readSocket(buffer, 0, buffer.length);
      int at = blocked() ? 0 : requests.consume(buffer, 0, count);
      if (at < count && !closing) {
        input.hold(buffer, at, count);
      }
    } else if (input.makeRoom(blocked())) {
      int end = input.to();
      input.added(readSocket(input.bytes(), end, input.bytes().length - end));
      if (!blocked()) {
        consumeInput();
      }
    } else {
      readPaused = true;
      listen(0);
    }
  }

  @Override
  protected void processWrite() throws Exception {
    super.processWrite();
    if (queueHead == null && !closing && socket.isOpen()) {
      goOn();
      if (!ready && !blocked() && inputClosed) {
        close();
      }
    }
  }

  /** Reads what there is, 0 bytes at the end of the stream. */
  private int readSocket(byte[] data, int offset, int count) throws IOException {
    try {
      return direct.read(data, offset, count);
    } catch (SocketClosedException e) {
      inputClosed = true;
      if (blocked() || dispatching) { // whoever replies or dispatches closes after the last request
        listen(queueHead == null ? 0 : WRITEABLE);
      } else {
        close();
      }
      return 0;
    }
  }

  /** Whether no request may be taken now. */
  boolean blocked() {
    return inFlight || queueHead != null || closing || heldOff;
  }

  private void consumeInput() throws IOException {
    int at = requests.consume(input.bytes(), input.from(), input.to());
    input.consumed(closing ? input.to() : at);
  }

  /** Goes on with what is held, now that nothing blocks, and with reading if it was paused. */
  private void goOn() throws IOException {
    if (!input.isEmpty()) {
      consumeInput();
    }
    if (readPaused && !closing && queueHead == null && !inputClosed) {
      readPaused = false;
      listen(READABLE);
    }
  }

  /** The exchange holds a complete request. */
  void requestComplete() {
    inFlight = true;
    ready = true;
    exchange.parsed(readNanos);
  }

  // ---- replies
  // -----------------------------------------------------------------------------------------------------

  /**
   * Submits requests until none is complete, or one is in flight on another thread.
   *
   * @param submit whether a request waits to be submitted now
   */
  void dispatch(boolean submit) {
    boolean next = submit;
    while (true) {
      if (next) {
        submit();
      }
      synchronized (this) {
        if (!inFlight && !closing) {
          takeNext();
        }
        next = ready;
        ready = false;
        if (!next) {
          dispatching = false;
          return;
        }
      }
    }
  }

  /**
   * Writes the reply to the request in flight, {@code length} bytes of {@code data} which may be used again after.
   *
   * @return whether the caller must go on with {@link #dispatch}
   */
  synchronized boolean complete(byte[] data, int from, int length, boolean keepAlive) {
    inFlight = false;
    if (!socket.isOpen()) {
      return false;
    }
    try {
      send(data, from, length);
    } catch (IOException e) {
      handleException(e);
      return false;
    }
    return afterReply(keepAlive);
  }

  /**
   * Writes the 503 to a request that is turned away for overload, and holds the connection off for a while.
   *
   * <p>Turning away costs nearly as much as serving a small request: reading, parsing and replying. A client that comes
   * back at once would have the service spend its CPU on refusals, so its next request is not looked at before the
   * pause is over.
   */
  synchronized boolean turnAway(byte[] data, int from, int length, boolean keepAlive) {
    heldOff = keepAlive && server.holdOff(this);
    return complete(data, from, length, keepAlive);
  }

  /** Goes on after a pause. */
  void resume() {
    boolean next;
    synchronized (this) {
      heldOff = false;
      if (!socket.isOpen() || blocked() || dispatching) {
        return; // whoever replies or dispatches looks at what is held
      }
      takeNext();
      next = ready;
      ready = false;
      dispatching = next;
    }
    if (next) {
      dispatch(true);
    }
  }

  /** Starts a range's reply, which goes on by itself; as the other form. */
  synchronized boolean complete(RangeReply range, boolean keepAlive) {
    inFlight = false;
    try {
      if (!socket.isOpen()) {
        range.release();
        return false;
      }
      write(range);
    } catch (IOException | RuntimeException e) {
      range.release();
      handleException(e);
      return false;
    }
    return afterReply(keepAlive);
  }

  private boolean afterReply(boolean keepAlive) {
    if (!keepAlive || server.stopping()) {
      scheduleClose();
      return false;
    }
    if (dispatching || input.isEmpty() && !inputClosed) {
      return false;
    }
    takeNext();
    boolean next = ready;
    ready = false;
    dispatching = next;
    return next;
  }

  /** Parses the next request of what is held; closes where the client has said that there is no more. */
  private void takeNext() {
    try {
      if (queueHead == null) {
        goOn();
      }
      if (inputClosed && !ready && !heldOff && queueHead == null) {
        close(); // where a reply waits, processWrite goes on with what is held
      }
    } catch (IOException e) {
      handleException(e);
    }
  }

  /** Writes a reply to a request that never came to the storage. */
  void send(byte[] data) throws IOException {
    send(data, 0, data.length);
  }

  /** Writes as much as the socket takes and queues a copy of the rest. */
  private void send(byte[] data, int from, int length) throws IOException {
    int sent = queueHead == null ? direct.write(data, from, length) : 0;
    if (sent < length) {
      write(new PendingReply(Arrays.copyOfRange(data, from + sent, from + length), server));
    }
  }

  /** Ends the connection once what is to be replied has been sent; takes no more requests. */
  void closeAfterReplies() {
    scheduleClose();
    closing = true;
  }

  // ---- limits in time, and the end
  // ---------------------------------------------------------------------------------

  /** Ends the connection if its client has been too slow, or silent for too long. */
  void checkTimes(long nowMillis) {
    long last = lastAccessTime;
    long since = requests.incompleteSince();
    if (since != 0 && since < nowMillis - DataServer.REQUEST_MILLIS_MAX) {
      timeOut();
    } else if (last < nowMillis - DataServer.WRITE_STALL_MILLIS_MAX) {
      closeIfSilent(last < nowMillis - DataServer.IDLE_MILLIS_MAX);
    }
  }

  private synchronized void closeIfSilent(boolean forLong) {
    if (queueHead != null || (forLong && isIdle())) {
      close();
    }
  }

  private synchronized void timeOut() {
    if (requests.incompleteSince() == 0 || blocked() || !socket.isOpen()) {
      return;
    }
    try {
      requests.timeOut();
    } catch (IOException e) {
      handleException(e);
    }
  }

  private synchronized boolean isIdle() {
    return !inFlight && queueHead == null;
  }

  /** Closes the connection if no request is in flight and no reply waits; returns whether it is closed. */
  synchronized boolean closeIfIdle() {
    if (isIdle()) {
      close();
    }
    return !socket.isOpen();
  }

  @Override
  public synchronized void close() {
    super.close();
    closing = true;
    if (!inFlight) {
      exchange
          .asked()
          .dropLargeArrays(); // a request in flight is dropped by the thread that runs it
    }
    input.drop();
    if (counted) {
      counted = false;
      server.connectionClosed(this);
    }
  }

  @Override
  public void handleException(Throwable e) {
    if (e instanceof IOException) {
      log.debug("connection lost: {}", e.toString());
    } else {
      log.error("connection closed after an error", e);
    }
    if (e instanceof BrokenRangeException broken && broken.endsWithConnection()) {
      Resets.beforeClose(socket);
    }
    close();
  }
}
