package lsmlab.server.http;

import java.util.Arrays;
import lsmlab.server.metrics.Method;
import lsmlab.server.variant.Request;
import lsmlab.storage.WriteBatch;

/**
 * What one request asks for: its method, key and body, taken out of the connection's bytes. Used for request after request;
 * belongs to whoever has the {@link Exchange} that it is part of.
 */
final class ParsedRequest {

  private static final byte[] ID = Ascii.bytes("id");
  private static final byte[] START = Ascii.bytes("start");
  private static final byte[] END = Ascii.bytes("end");
  private static final byte[] NO_BYTES = new byte[0];

  /** A larger body's array is not kept for the next request. */
  private static final int KEPT_BODY_BYTES_MAX = 8 * 1024;

  private static final int KEPT_KEY_BYTES_MAX = 1024;
  private static final int FIRST_BODY_BYTES = 64 * 1024;

  private final DataServer server;

  Method method = Method.OTHER;
  Persistence persistence = Persistence.KEEP;
  boolean http10;

  /** The key, or where a range starts: the first {@link #keyLength} bytes. */
  byte[] key = new byte[64];

  int keyLength;

  /** Where a range ends: the first {@link #endLength} bytes, {@link QueryDecoder#ABSENT} for no end. */
  byte[] end = NO_BYTES;

  int endLength;

  /** The value: the first {@link #bodyLength} bytes. */
  byte[] body = NO_BYTES;

  int bodyLength;
  private int bodyExpected;
  private int heldBytes;

  ParsedRequest(DataServer server) {
    this.server = server;
  }

  /**
   * Takes what it needs of a parsed head.
   *
   * @throws BadRequestException if the query does not name what the method needs, or the body is not acceptable
   */
  void prepare(byte[] data, RequestHead head, QueryDecoder decoder) throws BadRequestException {
    method = head.method;
    http10 = head.http10;
    persistence = Persistence.of(head);
    if (head.method == Method.RANGE) {
      keyLength = parameter(data, head, decoder, START, "start");
      endLength = decoder.find(data, head.queryStart, head.queryEnd, END, end);
      end = decoder.decoded();
      if (endLength == 0) {
        throw BadRequestException.refused(400, "parameter end is empty");
      }
    } else {
      keyLength = parameter(data, head, decoder, ID, "id");
    }
    bodyLength = 0;
    bodyExpected = 0;
    if (head.method == Method.PUT) {
      if (head.contentLength == RequestHead.NO_LENGTH) {
        throw BadRequestException.refused(411, "a PUT needs Content-Length");
      }
      if (head.contentLength > server.maxValueBytes()) {
        throw BadRequestException.refused(
            413,
            "the value has "
                + head.contentLength
                + " bytes, allowed are "
                + server.maxValueBytes());
      }
      bodyExpected = (int) head.contentLength;
    }
  }

  private int parameter(
      byte[] data, RequestHead head, QueryDecoder decoder, byte[] name, String called)
      throws BadRequestException {
    int length = decoder.find(data, head.queryStart, head.queryEnd, name, key);
    key = decoder.decoded();
    if (length == QueryDecoder.ABSENT) {
      throw BadRequestException.refused(400, "parameter " + called + " is missing");
    }
    if (length == 0) {
      throw BadRequestException.refused(400, "parameter " + called + " is empty");
    }
    return length;
  }

  /**
   * Takes as much of the body as there is. The array grows with what arrives, so a length that is only promised costs
   * nothing.
   *
   * @return how many bytes were taken, -1 where all requests together hold too much memory
   */
  int takeBody(byte[] data, int from, int to) {
    int count = Math.min(to - from, bodyExpected - bodyLength);
    if (body.length < bodyLength + count) {
      int wanted = Math.max(bodyLength + count, Math.min(2 * bodyLength, bodyExpected));
      int size = Math.max(wanted, Math.min(bodyExpected, FIRST_BODY_BYTES));
      if (size > KEPT_BODY_BYTES_MAX && !hold(size)) {
        return -1;
      }
      body = Arrays.copyOf(body, size);
    }
    System.arraycopy(data, from, body, bodyLength, count);
    bodyLength += count;
    return count;
  }

  /** Charges the server's budget for an array of that size instead of the one before. */
  private boolean hold(int size) {
    int more = size - heldBytes;
    heldBytes = size;
    return server.holdRequestBytes(more);
  }

  /** Bytes of the body that have not been taken. */
  int bodyMissing() {
    return bodyExpected - bodyLength;
  }

  boolean bodyComplete() {
    return bodyLength == bodyExpected;
  }

  boolean isWrite() {
    return method == Method.PUT || method == Method.DELETE;
  }

  /** Adds the write that is asked for; key and body must stay as they are until it is done. */
  void addTo(WriteBatch writes) {
    if (method == Method.PUT) {
      writes.put(key, 0, keyLength, body, 0, bodyLength);
    } else {
      writes.delete(key, 0, keyLength);
    }
  }

  /** Keeps what an ordinary next request can use. */
  void dropLargeArrays() {
    if (heldBytes > 0) {
      server.holdRequestBytes(-heldBytes);
      heldBytes = 0;
    }
    if (body.length > KEPT_BODY_BYTES_MAX) {
      body = NO_BYTES;
    }
    if (key.length > KEPT_KEY_BYTES_MAX) {
      key = new byte[64];
    }
    if (end.length > KEPT_KEY_BYTES_MAX) {
      end = NO_BYTES;
    }
  }

  /** As {@link Request#kind} has it. */
  Request.Kind kind() {
    return switch (method) {
      case GET -> Request.Kind.GET;
      case PUT -> Request.Kind.PUT;
      case DELETE -> Request.Kind.DELETE;
      case RANGE -> Request.Kind.RANGE;
      case OTHER -> throw new AssertionError("a request that is not served was submitted");
    };
  }

  /** As {@link Request#keyHash} has it. */
  int keyHash() {
    int hash = 0;
    for (int i = 0; i < keyLength; i++) {
      hash = 31 * hash + key[i];
    }
    hash *= 0x9e3779b9;
    return hash ^ hash >>> 16;
  }
}
