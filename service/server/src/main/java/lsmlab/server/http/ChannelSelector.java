package lsmlab.server.http;

import java.io.IOException;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import one.nio.net.SelectableJavaSocket;
import one.nio.net.Selector;
import one.nio.net.Session;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * one-nio's selector interface over Java's sockets, for where one-nio's native transport is not to be had.
 *
 * <p>What one-nio's own does for each ready connection and this one does not: a node in a set of selected keys, an array
 * and an iterator for each selection, and a write to the selector's wake-up descriptor when its own thread changes what
 * a connection listens to.
 *
 * <p>{@link #select} and the iterator that it returns, which is this object, belong to the loop's thread; all else may
 * be called by any thread. Holds {@link Connection}s only.
 */
final class ChannelSelector extends Selector implements Iterator<Session> {

  private static final Logger log = LoggerFactory.getLogger(ChannelSelector.class);

  private final java.nio.channels.Selector channels = java.nio.channels.Selector.open();
  private final Queue<Connection> arriving = new ConcurrentLinkedQueue<>();
  private final Consumer<SelectionKey> collect = this::collect;
  private final Thread loop;
  private Connection[] ready = new Connection[64];
  private int readyCount;
  private int next;
  private long lastWakeupTime;

  /** Makes one for this loop's thread. */
  ChannelSelector(Thread loop) throws IOException {
    this.loop = loop;
  }

  @Override
  public int size() {
    return channels.isOpen() ? channels.keys().size() : 0;
  }

  @Override
  public boolean isOpen() {
    return channels.isOpen();
  }

  @Override
  public void close() {
    try {
      channels.close();
    } catch (IOException e) {
      log.warn("a selector could not be closed", e);
    }
  }

  @Override
  public void register(Session session) {
    ((Connection) session).selectedBy(this);
    enable(session);
  }

  @Override
  public void unregister(Session session) {
    ((Connection) session).selectedBy(null);
    disable(session);
  }

  @Override
  public void enable(Session session) {
    arriving.add((Connection) session);
    wakeUp();
  }

  @Override
  public void disable(Session session) {
    SelectionKey key = channel(session).keyFor(channels);
    if (key != null) {
      key.cancel();
    }
  }

  @Override
  public void listen(Session session, int events) {
    SelectionKey key = channel(session).keyFor(channels);
    if (key != null) { // else it is arriving and will be registered with these events
      key.interestOps(events);
      wakeUp();
    }
  }

  private void wakeUp() {
    if (Thread.currentThread() != loop) {
      channels.wakeup();
    }
  }

  private static SelectableChannel channel(Session session) {
    return ((SelectableJavaSocket) session.socket()).getSelectableChannel();
  }

  /** Every connection registered now; none once closed. */
  @Override
  public Iterator<Session> iterator() {
    List<Session> all = new ArrayList<>();
    if (channels.isOpen()) {
      for (SelectionKey key : channels.keys()) {
        all.add((Session) key.attachment());
      }
    }
    return Collections.unmodifiableList(all).iterator();
  }

  /** Waits until a connection is ready; nothing where the selector is closed. */
  @Override
  public Iterator<Session> select() {
    readyCount = 0;
    next = 0;
    try {
      do {
        registerArriving();
        channels.select(collect);
      } while (readyCount == 0 && channels.isOpen());
    } catch (ClosedSelectorException e) {
      return this; // the loop ends
    } catch (IOException e) {
      log.error("selecting failed", e);
    }
    lastWakeupTime = System.nanoTime();
    return this;
  }

  private void collect(SelectionKey key) {
    Connection connection = (Connection) key.attachment();
    try {
      connection.ready(key.readyOps());
    } catch (CancelledKeyException e) {
      return; // closed by another thread meanwhile
    }
    if (readyCount == ready.length) {
      ready = Arrays.copyOf(ready, 2 * readyCount);
    }
    ready[readyCount++] = connection;
  }

  private void registerArriving() throws IOException {
    for (Connection each = arriving.poll(); each != null; each = arriving.poll()) {
      try {
        registerNow(each);
      } catch (ClosedChannelException e) {
        log.debug("a connection was closed before it was served");
      }
    }
  }

  private void registerNow(Connection connection) throws IOException {
    SelectableChannel channel = channel(connection);
    try {
      channel.register(channels, connection.interest(), connection);
    } catch (CancelledKeyException e) {
      channels.selectNow(); // takes the cancelled key away
      channel.register(channels, connection.interest(), connection);
    }
  }

  @Override
  public long lastWakeupTime() {
    return lastWakeupTime;
  }

  @Override
  public boolean hasNext() {
    return next < readyCount;
  }

  @Override
  public Session next() {
    if (next == readyCount) {
      throw new NoSuchElementException();
    }
    Connection connection = ready[next];
    ready[next++] = null;
    return connection;
  }
}
