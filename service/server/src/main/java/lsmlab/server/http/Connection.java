package lsmlab.server.http;

import java.io.IOException;
import java.util.Arrays;
import lsmlab.server.metrics.Method;
import lsmlab.server.variant.Rejection;
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
 * thread need not wait for it. Whatever arrives meanwhile is held, up to {@value #HELD_BYTES_MAX} bytes, then reading
 * stops and TCP tells the client. {@link #complete} writes the reply; where pipelined bytes are held, the same thread
 * goes on with the next request, in a loop and not by recursion. While a reply waits for the socket no request is
 * taken: a client that does not read is not served.
 *
 * <p><b>Locks.</b> All fields are guarded by this object's monitor, which one-nio takes too, in {@code process},
 * {@code write} and {@code close}. Never held while the storage works.
 *
 * <p>A long file, because input, hand-off and reply are one state machine under one lock.
 */
final class Connection extends Session {

  private static final Logger log = LoggerFactory.getLogger(Connection.class);

  /** Bytes held while a request is in flight. */
  private static final int HELD_BYTES_MAX = 64 * 1024;

  /** Bytes held of one request's head. */
  private static final int HEAD_BYTES_MAX =
      RequestHead.LINE_BYTES_MAX + RequestHead.HEADER_BYTES_MAX + 1024;

  /** A refused body of up to this many bytes is read and dropped, so that the connection can go on. */
  private static final long DROPPED_BYTES_MAX = 64L * 1024 * 1024;

  private static final byte[] NO_BYTES = new byte[0];

  private final DataServer server;
  private final Exchange exchange;

  /** For {@link SystemCalls}; used under the lock and while the socket is open, so that it is this socket's. */
  private final int descriptor;

  private final HeadScanner scanner = new HeadScanner();
  private final RequestHead head = new RequestHead();

  /** Bytes that have been read and not yet been parsed: input[inputStart..inputEnd). */
  private byte[] input = NO_BYTES;

  private int inputStart;
  private int inputEnd;

  /** Bytes to come that belong to a body nobody wants. */
  private long toDrop;

  /** The exchange waits for more of its body. */
  private boolean readingBody;

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

  /** When the oldest byte of an incomplete request arrived, in milliseconds of the day; 0 where there is none. */
  private volatile long incompleteSince;

  Connection(Socket socket, DataServer server) {
    super(socket);
    this.server = server;
    this.exchange = new Exchange(this, server);
    this.descriptor = SystemCalls.descriptor(socket);
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
      gatheredWithMore = submit && inputStart < inputEnd;
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
    if (inputStart == inputEnd) {
      int count = readSocket(buffer, 0, buffer.length);
      int at = blocked() ? 0 : consume(buffer, 0, count);
      if (at < count && !closing) {
        hold(buffer, at, count);
      }
    } else if (makeRoom()) {
      inputEnd += readSocket(input, inputEnd, input.length - inputEnd);
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
      if (descriptor != SystemCalls.NONE && socket.isOpen()) {
        int received = SystemCalls.receive(descriptor, data, offset, count);
        if (received > 0) {
          return received;
        }
      }
      return Math.max(0, socket.read(data, offset, count, 0));
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

  private boolean blocked() {
    return inFlight || queueHead != null || closing || heldOff;
  }

  // ---- input
  // -------------------------------------------------------------------------------------------------------

  private void hold(byte[] data, int from, int to) {
    if (input.length < to - from) {
      input = new byte[Math.max(to - from, 1024)];
    }
    System.arraycopy(data, from, input, 0, to - from);
    inputStart = 0;
    inputEnd = to - from;
  }

  /** Makes room for reading behind what is held; false where the limit is reached. */
  private boolean makeRoom() {
    if (inputEnd < input.length) {
      return true;
    }
    if (inputStart > 0) {
      System.arraycopy(input, inputStart, input, 0, inputEnd - inputStart);
      inputEnd -= inputStart;
      inputStart = 0;
      return true;
    }
    int max = blocked() ? HELD_BYTES_MAX : HEAD_BYTES_MAX;
    if (input.length >= max) {
      return false;
    }
    input = Arrays.copyOf(input, Math.min(2 * input.length, max));
    return true;
  }

  private void consumeInput() throws IOException {
    inputStart = consume(input, inputStart, inputEnd);
    if (inputStart == inputEnd || closing) {
      inputStart = 0;
      inputEnd = 0;
      if (input.length > 4096) {
        input = NO_BYTES;
      }
    }
  }

  /** Goes on with what is held, now that nothing blocks, and with reading if it was paused. */
  private void goOn() throws IOException {
    if (inputStart < inputEnd) {
      consumeInput();
    }
    if (readPaused && !closing && queueHead == null && !inputClosed) {
      readPaused = false;
      listen(READABLE);
    }
  }

  /**
   * Takes requests out of data[from..to) until one must go to the variant, a reply waits for the socket, or no request
   * is complete.
   *
   * @return where it stopped
   */
  private int consume(byte[] data, int from, int to) throws IOException {
    int at = from;
    while (!blocked()) {
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
      int taken = exchange.takeBody(data, at, to);
      if (taken < 0) {
        refuseForMemory();
        continue;
      }
      at += taken;
      if (!exchange.bodyComplete()) {
        break;
      }
      readingBody = false;
      inFlight = true;
      ready = true;
      exchange.parsed(readNanos);
    }
    boolean incomplete = !blocked() && (at < to || readingBody);
    if (!incomplete) {
      if (incompleteSince != 0) {
        incompleteSince = 0;
      }
    } else if (incompleteSince == 0) {
      incompleteSince = System.currentTimeMillis();
    }
    return closing ? to : at;
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
      exchange.prepare(data, head, server.queryDecoder());
    } catch (BadRequestException e) {
      refuseBody(e);
      return headEnd;
    }
    readingBody = true;
    if (head.method != Method.PUT) {
      toDrop = Math.max(0, head.contentLength);
    } else if (head.expectContinue && !head.http10 && to - headEnd < head.contentLength) {
      send(Replies.CONTINUE);
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
    toDrop = exchange.bodyMissing();
    exchange.dropLargeArrays();
    Persistence persistence = Persistence.of(head);
    send(Replies.empty(503, persistence));
    if (persistence == Persistence.CLOSE) {
      scheduleClose();
      closing = true;
    }
  }

  private void refuse(BadRequestException e, Persistence persistence, boolean withBody)
      throws IOException {
    server.metrics().recorder().count(head.method, e.status());
    send(Replies.error(e, persistence, withBody));
    if (persistence == Persistence.CLOSE || e.framingLost()) {
      scheduleClose();
      closing = true;
    }
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
    if (dispatching || inputStart == inputEnd && !inputClosed) {
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

  private void send(byte[] data) throws IOException {
    send(data, 0, data.length);
  }

  /** Writes as much as the socket takes and queues a copy of the rest. */
  private void send(byte[] data, int from, int length) throws IOException {
    int sent = 0;
    boolean direct = descriptor != SystemCalls.NONE && length <= SystemCalls.BYTES_MAX;
    if (queueHead == null && direct && socket.isOpen()) {
      sent = Math.max(0, SystemCalls.send(descriptor, data, from, length));
    }
    if (queueHead == null && sent == 0) {
      sent = Math.max(0, socket.write(data, from, length, 0));
    }
    if (sent < length) {
      write(new PendingReply(Arrays.copyOfRange(data, from + sent, from + length), server));
    }
  }

  // ---- limits in time, and the end
  // ---------------------------------------------------------------------------------

  /** Ends the connection if its client has been too slow, or silent for too long. */
  void checkTimes(long nowMillis) {
    long last = lastAccessTime;
    long since = incompleteSince;
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
    if (incompleteSince == 0 || blocked() || !socket.isOpen()) {
      return;
    }
    try {
      head.method = Method.OTHER;
      refuse(
          BadRequestException.broken(408, "the request did not arrive in time"),
          Persistence.CLOSE,
          true);
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
      exchange.dropLargeArrays(); // a request in flight is dropped by the thread that runs it
    }
    input = NO_BYTES;
    inputStart = 0;
    inputEnd = 0;
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
      Resets.onClose(socket);
    }
    close();
  }
}
