package lsmlab.server.http;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import one.nio.net.SelectableJavaSocket;
import one.nio.net.Socket;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * {@code recv} and {@code send} on a connection's descriptor, straight from and to arrays in the heap.
 *
 * <p>What Java's channels do around the same system calls and this does not: a lock, a buffer object, a copy through a
 * temporary buffer outside the heap, and the JVM's change of state for native code, which a call that does not block need
 * not make (<i>critical</i> in {@link Linker.Option}: a safepoint waits for it, some microseconds).
 *
 * <p>A descriptor may have become somebody else's once its channel is closed: the caller sees to it that no thread closes
 * the channel meanwhile. Where a call does nothing, for whatever reason, ask the channel: it tells the reason.
 *
 * <p>Only on Linux, and only where the JVM exports {@code sun.nio.ch}, as the jar's manifest asks; elsewhere
 * {@link #descriptor} says that there is none and connections use one-nio's sockets.
 */
final class SystemCalls {

  /** More at a time had better go through the channel: a safepoint waits for the copy. */
  static final int BYTES_MAX = 64 * 1024;

  /** Instead of a descriptor. */
  static final int NONE = -1;

  private static final Logger log = LoggerFactory.getLogger(SystemCalls.class);

  /** Never waits, whatever the channel's mode: a safepoint would wait with it. */
  private static final int MSG_DONTWAIT = 0x40;

  /** And no signal where the peer is gone. */
  private static final int SEND_FLAGS = MSG_DONTWAIT | 0x4000; // MSG_NOSIGNAL

  /** From a channel to its descriptor; null where system calls cannot be used, as are the other two then. */
  private static final MethodHandle DESCRIPTOR;

  private static final MethodHandle RECEIVE;
  private static final MethodHandle SEND;

  static {
    MethodHandle descriptor = null;
    MethodHandle receive = null;
    MethodHandle send = null;
    if (System.getProperty("os.name").equals("Linux")) {
      try {
        receive = call("recv");
        send = call("send");
        descriptor =
            MethodHandles.lookup()
                .findVirtual(
                    Class.forName("sun.nio.ch.SelChImpl"),
                    "getFDVal",
                    MethodType.methodType(int.class));
      } catch (ReflectiveOperationException | RuntimeException e) {
        log.info("connections are read and written through Java's channels: {}", e.toString());
      }
    }
    DESCRIPTOR = descriptor;
    RECEIVE = receive;
    SEND = send;
  }

  private SystemCalls() {}

  /** The socket's descriptor, {@link #NONE} where these calls cannot be used with it. */
  static int descriptor(Socket socket) {
    if (DESCRIPTOR == null || !(socket instanceof SelectableJavaSocket java)) {
      return NONE;
    }
    try {
      return (int) DESCRIPTOR.invoke(java.getSelectableChannel());
    } catch (Throwable e) {
      throw new AssertionError("a getter threw", e);
    }
  }

  /** Bytes received into the array; 0 or less where there are none, the peer has ended, or the connection is lost. */
  static int receive(int descriptor, byte[] data, int offset, int count) {
    try {
      MemorySegment to = MemorySegment.ofArray(data).asSlice(offset, count);
      return (int) (long) RECEIVE.invokeExact(descriptor, to, (long) count, MSG_DONTWAIT);
    } catch (Throwable e) {
      throw new AssertionError("a system call threw", e);
    }
  }

  /** Bytes of the array sent; 0 or less where there is no room or the connection is lost. */
  static int send(int descriptor, byte[] data, int offset, int count) {
    try {
      MemorySegment from = MemorySegment.ofArray(data).asSlice(offset, count);
      return (int) (long) SEND.invokeExact(descriptor, from, (long) count, SEND_FLAGS);
    } catch (Throwable e) {
      throw new AssertionError("a system call threw", e);
    }
  }

  private static MethodHandle call(String name) {
    MemorySegment function =
        SymbolLookup.libraryLookup("libc.so.6", Arena.global()).findOrThrow(name);
    return Linker.nativeLinker()
        .downcallHandle(
            function,
            FunctionDescriptor.of(
                ValueLayout.JAVA_LONG,
                ValueLayout.JAVA_INT,
                ValueLayout.ADDRESS,
                ValueLayout.JAVA_LONG,
                ValueLayout.JAVA_INT),
            Linker.Option.critical(true));
  }
}
