package lsmlab.server.http;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/** A client that sends exactly the given bytes and reads responses one by one. Texts are Latin-1: a char is a byte. */
public final class RawClient implements AutoCloseable {

  private static final int TIMEOUT_MILLIS = 60_000;

  /** A response; header names in lower case. */
  public record Response(int status, Map<String, String> headers, String body) {}

  /** Takes a chunk. */
  public interface ChunkSink {
    void accept(String chunk) throws IOException;
  }

  private final Socket socket;
  private final InputStream in;

  public RawClient(int port) throws IOException {
    this(port, 0);
  }

  /**
   * Connects.
   *
   * @param receiveBufferBytes how much the kernel may hold for a client that does not read; 0 for its own choice
   */
  public RawClient(int port, int receiveBufferBytes) throws IOException {
    socket = new Socket();
    if (receiveBufferBytes > 0) {
      socket.setReceiveBufferSize(receiveBufferBytes);
    }
    socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
    socket.setTcpNoDelay(true);
    socket.setSoTimeout(TIMEOUT_MILLIS);
    in = new java.io.BufferedInputStream(socket.getInputStream());
  }

  public RawClient send(String bytes) throws IOException {
    return send(bytes.getBytes(StandardCharsets.ISO_8859_1));
  }

  public RawClient send(byte[] bytes) throws IOException {
    socket.getOutputStream().write(bytes);
    return this;
  }

  public Response exchange(String bytes) throws IOException {
    return send(bytes).read();
  }

  /** Ends its sending direction. */
  public void shutdownOutput() throws IOException {
    socket.shutdownOutput();
  }

  /** Ends the connection with a reset, like a client that dies. */
  public void reset() throws IOException {
    socket.setSoLinger(true, 0);
    socket.close();
  }

  /** The next response. */
  public Response read() throws IOException {
    return read(false);
  }

  /**
   * The next response.
   *
   * @param headOnly whether it answers a HEAD: it has no body, even if its headers give a length
   */
  public Response read(boolean headOnly) throws IOException {
    String statusLine = line();
    String[] words = statusLine.split(" ", 3);
    if (words.length != 3 || !words[0].equals("HTTP/1.1")) {
      throw new IOException("no status line: " + statusLine);
    }
    Map<String, String> headers = new LinkedHashMap<>();
    for (String line = line(); !line.isEmpty(); line = line()) {
      int colon = line.indexOf(':');
      headers.put(
          line.substring(0, colon).toLowerCase(Locale.ROOT), line.substring(colon + 1).trim());
    }
    return new Response(Integer.parseInt(words[1]), headers, headOnly ? "" : body(headers));
  }

  private String body(Map<String, String> headers) throws IOException {
    if ("chunked".equals(headers.get("transfer-encoding"))) {
      StringBuilder body = new StringBuilder();
      for (int size = chunkSize(); size > 0; size = chunkSize()) {
        body.append(exactly(size));
        if (!line().isEmpty()) {
          throw new IOException("a chunk is longer than it says");
        }
      }
      if (!line().isEmpty()) {
        throw new IOException("trailers were not expected");
      }
      return body.toString();
    }
    String length = headers.get("content-length");
    if (length != null) {
      return exactly(Integer.parseInt(length));
    }
    return "close".equals(headers.get("connection")) ? readToEnd() : "";
  }

  /** The next response, a 200 in chunks, chunk by chunk. */
  public void readChunks(ChunkSink sink) throws IOException {
    String head = line();
    for (String line = line(); !line.isEmpty(); line = line()) {
      head += "\n" + line.toLowerCase(Locale.ROOT);
    }
    if (!head.startsWith("HTTP/1.1 200 ") || !head.contains("\ntransfer-encoding: chunked")) {
      throw new IOException("not a response in chunks: " + head);
    }
    for (int size = chunkSize(); size > 0; size = chunkSize()) {
      sink.accept(exactly(size));
      if (!line().isEmpty()) {
        throw new IOException("a chunk is longer than it says");
      }
    }
    if (!line().isEmpty()) {
      throw new IOException("trailers were not expected");
    }
  }

  private int chunkSize() throws IOException {
    return Integer.parseInt(line(), 16);
  }

  private String exactly(int length) throws IOException {
    byte[] bytes = in.readNBytes(length);
    if (bytes.length < length) {
      throw new EOFException("the body ends after " + bytes.length + " of " + length + " bytes");
    }
    return new String(bytes, StandardCharsets.ISO_8859_1);
  }

  /** A line without its CR LF. */
  private String line() throws IOException {
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    while (true) {
      int b = in.read();
      if (b < 0) {
        throw new EOFException("closed after " + line.size() + " bytes of a line");
      }
      if (b == '\n') {
        String text = line.toString(StandardCharsets.ISO_8859_1);
        if (!text.endsWith("\r")) {
          throw new IOException("a line without CR: " + text);
        }
        return text.substring(0, text.length() - 1);
      }
      line.write(b);
    }
  }

  /** All bytes until the server closes. */
  public String readToEnd() throws IOException {
    return new String(in.readAllBytes(), StandardCharsets.ISO_8859_1);
  }

  /** Takes up to {@code count} bytes; fewer after the end. */
  void skip(int count) {
    try {
      socket.getInputStream().readNBytes(count);
    } catch (IOException e) {
      // reset: there is no more
    }
  }

  /** Whether the server has closed and sent nothing more. */
  public boolean isClosedByPeer() throws IOException {
    try {
      return in.read() < 0;
    } catch (java.net.SocketException e) {
      return true; // a reset is an end too
    }
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
