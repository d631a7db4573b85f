package lsmlab.server.http;

import java.util.random.RandomGenerator;

/**
 * Requests from a seed: valid ones, and valid ones with a few bytes changed. There are few keys, so that requests often
 * meet.
 */
final class FuzzInputs {

  private static final String[] KEYS = {
    "a",
    "b",
    "key-1",
    "%6B%65y-1",
    "%C3%A9",
    "%F0%9F%98%80",
    "%00",
    "a+b",
    "a%2Bb",
    "k=v",
    "x?y/z",
    "%7E"
  };
  private static final String[] BAD_KEYS = {
    "", "%", "%4", "%zz", "%C3", "%C0%80", "%ED%A0%80", "%80", "%F4%90%80%80", "%E2%82"
  };
  private static final String[] HEADERS = {
    "Accept: */*",
    "User-Agent: f",
    "X-Long: " + "y".repeat(300),
    "Connection: keep-alive",
    "connection: Keep-Alive, x",
    "Content-Type: text/plain",
    "Cookie: a=b; c=d",
    "X: \u00e9:\t:"
  };
  private static final String[] ODD_HEADERS = {
    "Connection: close",
    "Expect: 100-continue",
    "Transfer-Encoding: chunked",
    "Content-Length: 1",
    "Content-Length: x",
    "Content-Length: 999999999999999999",
    "Host: other",
    "No colon",
    ": x",
    "A : b",
    " folded",
    "X: \u0001",
    "Transfer-Encoding : chunked",
    "Content-Length: +3",
    "Content-Length: 70000000",
    "Host: a b",
    "Origin: http://h",
    "Origin: HTTPS://H",
    "Origin: http://other",
    "Origin: null"
  };
  private static final String[] ODD_METHODS = {
    "HEAD", "POST", "OPTIONS", "get", "G", "BREW", "PRI"
  };
  private static final String[] ODD_PATHS = {
    "/",
    "*",
    "/v0/entity/",
    "/v0/ENTITY",
    "http://h/v0/entity",
    "hTTp://h/v0/entity",
    "http://h",
    "h:80",
    "/v0/%65ntity",
    "//v0/entity"
  };
  private static final String[] ODD_VERSIONS = {
    "HTTP/1.0", "HTTP/1.2", "HTTP/2.0", "http/1.1", "HTTP/1", "HTTP/1.10", "HTTP/0.9", ""
  };
  private static final String INTERESTING =
      "\r\n\t :;,%&=?/#+\u0000\u0001\u007f\u0080\u00c3\u00ff019aAzZHGP";

  private final RandomGenerator random;

  FuzzInputs(RandomGenerator random) {
    this.random = random;
  }

  /** One request; about half are valid. */
  String next() {
    String request = request();
    int changes = random.nextInt(100);
    if (changes < 70) {
      return request;
    }
    for (int i = changes < 95 ? 1 : 4; i > 0; i--) {
      request = change(request);
    }
    return request;
  }

  private String request() {
    String method = pick("GET", "GET", "PUT", "PUT", "DELETE", "GET RANGE");
    boolean range = method.equals("GET RANGE");
    method = range ? "GET" : method;
    String path = range ? "/v0/entities" : "/v0/entity";
    if (one(40)) {
      method = pick(ODD_METHODS);
    }
    if (one(40)) {
      path = pick(ODD_PATHS);
    }
    StringBuilder head = new StringBuilder();
    if (one(60)) {
      head.append("\r\n");
    }
    head.append(method).append(' ').append(path).append(query(range)).append(' ');
    head.append(one(15) ? pick(ODD_VERSIONS) : "HTTP/1.1").append("\r\n");
    if (!one(60)) {
      head.append(pick("Host: h", "host:h", "HOST: \t h ")).append("\r\n");
    }
    for (int i = random.nextInt(4); i > 0; i--) {
      head.append(pick(HEADERS)).append("\r\n");
    }
    if (one(30)) {
      head.append(pick(ODD_HEADERS)).append("\r\n");
    }
    if (one(2000)) {
      head.append("X: y\r\n".repeat(90 + random.nextInt(20)));
    }
    if (one(2000)) {
      head.append("X: ").append("y".repeat(2_030 + random.nextInt(30))).append("\r\n");
    }
    if (one(2000)) {
      head.append(("X: " + "y".repeat(1000) + "\r\n").repeat(15 + random.nextInt(3)));
    }
    String body = "";
    if (method.equals("PUT") || one(40)) {
      body = body();
      if (!one(50)) {
        int length = one(40) ? Math.max(0, body.length() + random.nextInt(7) - 3) : body.length();
        head.append(pick("Content-Length: ", "content-length:")).append(length).append("\r\n");
      }
    }
    return head.append("\r\n").append(body).toString();
  }

  private String query(boolean range) {
    if (one(60)) {
      return pick("", "?", "?x", "?id", "?ID=a", "?id=a&id=b", "?start=a&start=b", "?end=a");
    }
    String before = one(10) ? pick("a=1&", "&&", "xid=%20&", "e=%zz&") : "";
    String after = one(10) ? pick("&b=2", "&", "&id", "&%", "&end=") : "";
    if (!range) {
      return "?" + before + "id=" + key() + after;
    }
    return "?" + before + "start=" + key() + (random.nextBoolean() ? "&end=" + key() : "") + after;
  }

  private String key() {
    if (one(5000)) {
      return "x".repeat(2_000 + random.nextInt(30)); // about as long as a request line may be
    }
    return one(30) ? pick(BAD_KEYS) : pick(KEYS);
  }

  private String body() {
    return switch (random.nextInt(20)) {
      case 0 -> "";
      case 1 -> "\r\n\r\nGET /v0/entity?id=a HTTP/1.1\r\nHost: h\r\n\r\n";
      case 2 -> "v".repeat(random.nextInt(20_000));
      default -> random.nextInt(1000) + "\u0000\u00ff\r\n".substring(random.nextInt(5));
    };
  }

  private String change(String text) {
    if (text.isEmpty()) {
      return text;
    }
    // most changes hit the head, where they matter
    int at = random.nextInt(Math.min(text.length(), 120));
    String before = text.substring(0, at);
    String byteAt = text.substring(at, at + 1);
    String after = text.substring(at + 1);
    char other = INTERESTING.charAt(random.nextInt(INTERESTING.length()));
    return switch (random.nextInt(7)) {
      case 0 -> before + other + after;
      case 1 -> before + after;
      case 2 -> before + other + byteAt + after;
      case 3 -> before + (char) (byteAt.charAt(0) ^ 1 << random.nextInt(8)) + after;
      case 4 -> before + byteAt + after.substring(0, Math.min(9, after.length())) + byteAt + after;
      case 5 -> before + after.substring(Math.min(after.length(), random.nextInt(20)));
      default -> before;
    };
  }

  private boolean one(int in) {
    return random.nextInt(in) == 0;
  }

  private String pick(String... choices) {
    return choices[random.nextInt(choices.length)];
  }
}
