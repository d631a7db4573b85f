package lsmlab.server.http;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.net.StandardSocketOptions;
import java.nio.channels.SocketChannel;
import one.nio.net.SelectableJavaSocket;
import one.nio.net.Socket;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends connections with a reset (RST) instead of an orderly end (FIN), so that a client cannot take one for the other.
 *
 * <p>A socket of Java's is closed with {@code SO_LINGER} of no time (socket(7)). That is too late for a socket of one-nio's
 * native transport, whose {@code close} shuts the connection down first, which is the orderly end: it is disconnected
 * at once, by {@code connect} to no address (connect(2), {@code AF_UNSPEC}).
 */
final class Resets {

  private static final Logger log = LoggerFactory.getLogger(Resets.class);

  private Resets() {}

  /** Resets the connection now or when the socket is closed, which the caller does next. */
  static void beforeClose(Socket socket) {
    try {
      if (socket instanceof SelectableJavaSocket java
          && java.getSelectableChannel() instanceof SocketChannel channel) {
        channel.setOption(StandardSocketOptions.SO_LINGER, 0);
      } else {
        Native.disconnect(socket);
      }
    } catch (IOException e) {
      log.debug("connection lost: {}", e.toString());
    } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
      log.warn(
          "a connection could not be reset; its client may take a part of a range for the whole",
          e);
    }
  }

  /** For sockets of one-nio's native transport, loaded when the first of them is to be reset. */
  private static final class Native {

    /** {@code struct sockaddr} of {@code AF_UNSPEC}, which is 0. */
    private static final MemorySegment NO_ADDRESS = Arena.global().allocate(16);

    private static final MethodHandle CONNECT =
        Linker.nativeLinker()
            .downcallHandle(
                Linker.nativeLinker().defaultLookup().findOrThrow("connect"),
                FunctionDescriptor.of(
                    ValueLayout.JAVA_INT,
                    ValueLayout.JAVA_INT,
                    ValueLayout.ADDRESS,
                    ValueLayout.JAVA_INT));

    static void disconnect(Socket socket) throws ReflectiveOperationException {
      Class<?> type = Class.forName("one.nio.net.NativeSocket");
      MethodHandle descriptor =
          MethodHandles.privateLookupIn(type, MethodHandles.lookup())
              .findGetter(type, "fd", int.class);
      try {
        // Where it fails the connection has ended already.
        int ignored =
            (int)
                CONNECT.invokeExact(
                    (int) descriptor.invoke(socket), NO_ADDRESS, (int) NO_ADDRESS.byteSize());
      } catch (RuntimeException | Error e) {
        throw e;
      } catch (Throwable e) {
        throw new AssertionError("a system call threw", e);
      }
    }
  }
}
