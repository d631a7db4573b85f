package lsmlab.server.http;

import java.io.IOException;
import one.nio.net.Socket;

/**
 * A connection's socket, read and written by {@link SystemCalls} where they can be used and through its channel otherwise.
 * Used under the connection's lock, under which alone the socket is closed.
 */
final class DirectSocket {

  private final Socket socket;
  private final int descriptor;

  DirectSocket(Socket socket) {
    this.socket = socket;
    this.descriptor = SystemCalls.descriptor(socket);
  }

  /**
   * Reads what there is.
   *
   * @return how many bytes, 0 where none have come
   * @throws one.nio.net.SocketClosedException where none will come any more
   */
  int read(byte[] data, int offset, int count) throws IOException {
    if (descriptor != SystemCalls.NONE && socket.isOpen()) {
      int received = SystemCalls.receive(descriptor, data, offset, count);
      if (received > 0) {
        return received;
      }
    }
    return Math.max(0, socket.read(data, offset, count, 0));
  }

  /** Writes as many bytes as the kernel takes; returns how many. */
  int write(byte[] data, int offset, int count) throws IOException {
    if (descriptor != SystemCalls.NONE && count <= SystemCalls.BYTES_MAX && socket.isOpen()) {
      int sent = SystemCalls.send(descriptor, data, offset, count);
      if (sent > 0) {
        return sent;
      }
    }
    return Math.max(0, socket.write(data, offset, count, 0));
  }
}
