package lsmlab.server.http;

import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SocketChannel;
import one.nio.net.SelectableJavaSocket;
import one.nio.net.Socket;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Ends connections with a reset (RST) instead of an orderly end (FIN), so that a client cannot take one for the other. */
final class Resets {

  private static final Logger log = LoggerFactory.getLogger(Resets.class);

  private Resets() {}

  /** Has the socket's {@code close} reset the connection: it lingers, for no time (socket(7), SO_LINGER). */
  static void onClose(Socket socket) {
    try {
      if (socket instanceof SelectableJavaSocket java
          && java.getSelectableChannel() instanceof SocketChannel channel) {
        channel.setOption(StandardSocketOptions.SO_LINGER, 0);
        return;
      }
    } catch (IOException e) {
      log.debug("connection lost: {}", e.toString());
      return;
    }
    // struct linger {int l_onoff; int l_linger;}
    byte[] linger =
        ByteBuffer.allocate(8).order(ByteOrder.nativeOrder()).putInt(1).putInt(0).array();
    if (!socket.setOption(Socket.SOL_SOCKET, Socket.SO_LINGER, linger)) {
      log.warn(
          "a connection could not be reset; its client may take a part of a range for the whole");
    }
  }
}
