package lsmlab.server.http;

import java.util.Arrays;

/**
 * Bytes of one connection that have been read and not yet been parsed. While there are none it holds no array, or a small
 * one. Guarded by its connection's lock.
 */
final class HeldInput {

  /** Bytes held while a request is in flight. */
  static final int BYTES_MAX = 64 * 1024;

  /** Bytes held of one request's head. */
  private static final int HEAD_BYTES_MAX =
      RequestHead.LINE_BYTES_MAX + RequestHead.HEADER_BYTES_MAX + 1024;

  private static final int FIRST_BYTES = 1024;
  private static final int KEPT_BYTES_MAX = 4096;
  private static final byte[] NO_BYTES = new byte[0];

  private byte[] bytes = NO_BYTES;
  private int from;
  private int to;

  boolean isEmpty() {
    return from == to;
  }

  /** The array in which the bytes are, from {@link #from} to {@link #to}. */
  byte[] bytes() {
    return bytes;
  }

  int from() {
    return from;
  }

  int to() {
    return to;
  }

  /** Holds these bytes; there are none yet. */
  void hold(byte[] data, int first, int end) {
    assert isEmpty();
    if (bytes.length < end - first) {
      bytes = new byte[Math.max(end - first, FIRST_BYTES)];
    }
    System.arraycopy(data, first, bytes, 0, end - first);
    from = 0;
    to = end - first;
  }

  /**
   * Makes room for reading behind what is held.
   *
   * @param inFlight whether it waits for a request in flight and not for the rest of its own head
   * @return false where the limit is reached
   */
  boolean makeRoom(boolean inFlight) {
    if (to < bytes.length) {
      return true;
    }
    if (from > 0) {
      System.arraycopy(bytes, from, bytes, 0, to - from);
      to -= from;
      from = 0;
      return true;
    }
    int max = inFlight ? BYTES_MAX : HEAD_BYTES_MAX;
    if (bytes.length >= max) {
      return false;
    }
    bytes = Arrays.copyOf(bytes, Math.min(2 * bytes.length, max));
    return true;
  }

  /** So many bytes have been read into the array, behind what is held. */
  void added(int count) {
    to += count;
  }

  /** What lies before this index is not needed any more. */
  void consumed(int index) {
    from = index;
    if (from == to) {
      from = 0;
      to = 0;
      if (bytes.length > KEPT_BYTES_MAX) {
        bytes = NO_BYTES;
      }
    }
  }

  /** Nothing is needed any more, nor will be. */
  void drop() {
    bytes = NO_BYTES;
    from = 0;
    to = 0;
  }
}
