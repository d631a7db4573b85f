package lsmlab.server.http;

import java.io.IOException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.nio.channels.SocketChannel;
import lsmlab.storage.os.Libc;
import one.nio.net.SelectableJavaSocket;
import one.nio.net.Socket;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Shuts down one direction of a connection (shutdown(2)), for which one-nio's sockets have no method.
 *
 * <p>If a socket is closed while the client is still sending, the kernel answers with a reset. The client's kernel then
 * drops a response that it has received but that the client has not yet read. So the server first shuts down its own
 * direction, and continues to read for a while.
 */
final class HalfClose {

  private static final Logger log = LoggerFactory.getLogger(HalfClose.class);

  private HalfClose() {}

  /** Tells the client that no more data follows. The socket can still be read. */
  static void output(Socket socket) {
    try {
      if (channel(socket) instanceof SocketChannel channel) {
        channel.shutdownOutput();
      } else {
        Native.shutdown(socket, Native.WRITE);
      }
    } catch (IOException e) {
      log.debug("connection lost: {}", e.toString());
    }
  }

  /** Makes the next read find the end of the stream, even if the client sends more. Only for Java's sockets. */
  static void input(Socket socket) {
    try {
      if (channel(socket) instanceof SocketChannel channel) {
        channel.shutdownInput();
      }
    } catch (IOException e) {
      log.debug("connection lost: {}", e.toString());
    }
  }

  private static Object channel(Socket socket) {
    return socket instanceof SelectableJavaSocket java ? java.getSelectableChannel() : null;
  }

  /** Access to sockets of one-nio's native transport. Loaded when the first of them is shut down. */
  private static final class Native {

    /** {@code SHUT_WR}. */
    static final int WRITE = 1;

    private static final MethodHandle SHUTDOWN =
        Libc.find(
            "shutdown",
            FunctionDescriptor.of(
                ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));

    private static final MethodHandle DESCRIPTOR = descriptor();

    private static MethodHandle descriptor() {
      try {
        Class<?> type = Class.forName("one.nio.net.NativeSocket");
        return MethodHandles.privateLookupIn(type, MethodHandles.lookup())
            .findGetter(type, "fd", int.class);
      } catch (ReflectiveOperationException e) {
        throw new IllegalStateException("one-nio's native socket no longer has the field fd", e);
      }
    }

    static void shutdown(Socket socket, int direction) throws IOException {
      long result =
          Libc.call(() -> (int) SHUTDOWN.invokeExact((int) DESCRIPTOR.invoke(socket), direction));
      if (result != 0) {
        throw new IOException("shutdown failed: the client is gone");
      }
    }
  }
}
