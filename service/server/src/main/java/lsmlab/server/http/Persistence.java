package lsmlab.server.http;

/** Whether a connection goes on after a reply, and what the reply must say of it. */
enum Persistence {
  /** HTTP/1.1's default; nothing needs to be said. */
  KEEP(""),
  /** An HTTP/1.0 client asked for it and must be told. */
  KEEP_AND_SAY("Connection: keep-alive\r\n"),
  CLOSE("Connection: close\r\n");

  private final String header;

  Persistence(String header) {
    this.header = header;
  }

  static Persistence of(RequestHead head) {
    if (!head.keepAlive) {
      return CLOSE;
    }
    return head.http10 ? KEEP_AND_SAY : KEEP;
  }

  String header() {
    return header;
  }
}
