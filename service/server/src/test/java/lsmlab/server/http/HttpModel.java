package lsmlab.server.http;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The correct responses of the data port to a stream of bytes, however it is split. This is a second parser, slow and
 * written with regular expressions and the JDK's decoders, that shares no code with the server's. Texts are Latin-1: a
 * char is a byte. One connection, one thread.
 */
final class HttpModel {

  /**
   * An expected response.
   *
   * @param body the exact body, null if any error text will do
   * @param headOnly the response has no body though it may give a length
   * @param mayContinue 100 Continue may precede it
   */
  record Expected(
      int status,
      String body,
      boolean headOnly,
      boolean close,
      boolean mayContinue,
      String allow) {}

  private static final Pattern REQUEST_LINE =
      Pattern.compile("([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!-~&&[^#]]+) (HTTP/[0-9]\\.[0-9])");
  private static final Pattern HEADER =
      Pattern.compile("([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\\t\\x20-\\x7e\\x80-\\xff]*)");
  private static final long DROPPED_BYTES_MAX = 64L << 20;

  private final TreeMap<String, String> store = new TreeMap<>();
  private final int maxValueBytes;
  private final int maxKeyBytes;
  private String rest = "";
  private boolean closed;
  private boolean promised;
  private long toDrop;

  private String method;
  private String target;
  private boolean http10;
  private boolean keepAlive;
  private boolean expect;
  private long length;
  private int headers;
  private int headerBytes;
  private int hosts;
  private String host;
  private String origin;
  private final Set<String> options = new HashSet<>();

  HttpModel(int maxValueBytes, int maxKeyBytes) {
    this.maxValueBytes = maxValueBytes;
    this.maxKeyBytes = maxKeyBytes;
  }

  /** Whether the server ends the connection after the last response. */
  boolean closed() {
    return closed;
  }

  /** Whether the connection is between two requests. */
  boolean complete() {
    return rest.isEmpty() && toDrop == 0;
  }

  /**
   * Whether a request with {@code Expect: 100-continue} waits for its body, so that a 100 Continue may arrive first.
   */
  boolean promised() {
    return promised;
  }

  /** The responses to the requests that these bytes complete. */
  List<Expected> feed(String bytes) {
    rest += bytes;
    promised = false;
    List<Expected> all = new ArrayList<>();
    while (!closed) {
      int dropped = (int) Math.min(toDrop, rest.length());
      rest = rest.substring(dropped);
      toDrop -= dropped;
      if (rest.isEmpty() || toDrop > 0 || !request(all)) {
        break;
      }
    }
    return all;
  }

  /** Takes one request off the stream; false if it is incomplete. */
  private boolean request(List<Expected> all) {
    if (rest.startsWith("\r\n")) {
      rest = rest.substring(2);
      return true;
    }
    headers = 0;
    headerBytes = 0;
    hosts = 0;
    host = null;
    origin = null;
    expect = false;
    length = -1;
    options.clear();
    int at = 0;
    while (true) {
      int lineFeed = rest.indexOf('\n', at);
      String line = rest.substring(at, lineFeed < 0 ? rest.length() : lineFeed + 1);
      if (at > 0 && line.equals("\r\n")) {
        break;
      }
      int status;
      if (lineFeed < 0) {
        boolean tooLong = line.length() > LsmHttpRequest.LINE_BYTES_MAX;
        status = !tooLong ? 0 : at == 0 ? 414 : 431;
      } else {
        status = at == 0 ? requestLine(line) : header(line);
      }
      if (status != 0) {
        return broken(all, status);
      }
      if (lineFeed < 0) {
        return false;
      }
      at = lineFeed + 1;
    }
    keepAlive = !options.contains("close") && (!http10 || options.contains("keep-alive"));
    if (hosts != 1 && !(http10 && hosts == 0)) {
      return broken(all, 400);
    }
    return serve(all, at + 2);
  }

  private boolean broken(List<Expected> all, int status) {
    all.add(new Expected(status, null, method.equals("HEAD"), true, false, null));
    closed = true;
    return false;
  }

  /** Checks a request line, with its line end; returns 0, or the status with which the connection ends. */
  private int requestLine(String bytes) {
    method = "";
    String text = bytes.replaceAll("\r?\n$", "");
    if (text.length() + 2 > LsmHttpRequest.LINE_BYTES_MAX) {
      return 414;
    }
    Matcher line = REQUEST_LINE.matcher(text);
    if (!bytes.endsWith("\r\n") || !line.matches()) {
      return 400;
    }
    String version = line.group(3);
    if (version.charAt(5) != '1') {
      return 505;
    }
    if (line.group(2).length() > LsmHttpRequest.TARGET_BYTES_MAX) {
      return 414;
    }
    method = line.group(1);
    target = line.group(2);
    http10 = version.endsWith("0");
    return 0;
  }

  /** Checks a header, with its line end; returns what {@link #requestLine} returns. */
  private int header(String bytes) {
    headerBytes += bytes.length();
    if (bytes.length() > LsmHttpRequest.LINE_BYTES_MAX
        || headerBytes > LsmHttpRequest.HEADER_BYTES_MAX
        || ++headers > LsmHttpRequest.HEADERS_MAX) {
      return 431;
    }
    Matcher header = HEADER.matcher(bytes.replaceAll("\r\n$", ""));
    if (!bytes.endsWith("\r\n") || !header.matches()) {
      return 400;
    }
    String value = header.group(2).replaceAll("^[ \\t]+|[ \\t]+$", "");
    switch (header.group(1).toLowerCase(Locale.ROOT)) {
      case "host" -> {
        hosts++;
        host = value;
        return value.matches("[-a-zA-Z0-9._~%!$&'()*+,;=:\\[\\]]*") ? 0 : 400;
      }
      case "origin" -> origin = value;
      case "transfer-encoding" -> {
        return 411;
      }
      case "expect" -> expect = value.equalsIgnoreCase("100-continue");
      case "connection" -> {
        for (String option : value.split(",")) {
          options.add(option.replaceAll("^[ \\t]+|[ \\t]+$", "").toLowerCase(Locale.ROOT));
        }
      }
      case "content-length" -> {
        if (length >= 0 || !value.matches("[0-9]{1,18}")) {
          return 400;
        }
        length = Long.parseLong(value);
      }
      default -> {
        // has no meaning for this server
      }
    }
    return 0;
  }

  /** Answers a request whose head is well-formed and takes {@code headBytes}; false if its body is incomplete. */
  private boolean serve(List<Expected> all, int headBytes) {
    String path = target;
    if (path.regionMatches(true, 0, "http://", 0, 7)) {
      int slash = path.indexOf('/', 7);
      path = slash < 0 ? "" : path.substring(slash);
    }
    int mark = path.indexOf('?');
    String query = mark < 0 ? "" : path.substring(mark + 1);
    path = mark < 0 ? path : path.substring(0, mark);
    boolean entity = path.equals("/v0/entity");
    boolean entities = path.equals("/v0/entities");
    int refused = 0;
    String allow = null;
    if (!entity && !entities) {
      refused = 400;
    } else if (!(entity ? Set.of("GET", "HEAD", "PUT", "DELETE") : Set.of("GET", "HEAD"))
        .contains(method)) {
      refused = 405;
      allow = entity ? "GET, HEAD, PUT, DELETE" : "GET, HEAD";
    }
    Map<String, String> parameters = refused == 0 ? parameters(query, entity) : null;
    if (refused == 0 && parameters == null) {
      refused = 400;
    }
    if (refused == 0 && entities && http10) {
      refused = 505;
    }
    if (refused == 0 && origin != null && !isOwn(origin)) {
      refused = 403;
    }
    if (refused == 0 && method.equals("PUT")) {
      refused = length < 0 ? 411 : length > maxValueBytes ? 413 : 0;
    }
    long bodyBytes = Math.max(0, length);
    boolean headOnly = method.equals("HEAD");
    if (refused != 0) {
      boolean leave = expect && !http10 && bodyBytes > 0;
      closed = !keepAlive || bodyBytes > DROPPED_BYTES_MAX || leave;
      all.add(new Expected(refused, null, headOnly, closed, false, allow));
      rest = rest.substring(headBytes);
      toDrop = bodyBytes;
      return true;
    }
    boolean put = method.equals("PUT");
    boolean mayContinue = put && expect && !http10;
    if (put && rest.length() - headBytes < length) {
      promised = mayContinue;
      return false;
    }
    String key = parameters.get(entity ? "id" : "start");
    closed = !keepAlive;
    int status = 200;
    String body = "";
    switch (method) {
      case "PUT" -> {
        store.put(key, rest.substring(headBytes, headBytes + (int) length));
        status = 201;
      }
      case "DELETE" -> {
        store.remove(key);
        status = 202;
      }
      default -> {
        if (entities) {
          body = range(key, parameters.get("end"));
        } else if (store.containsKey(key)) {
          body = store.get(key);
        } else {
          status = 404;
        }
      }
    }
    all.add(new Expected(status, headOnly ? "" : body, headOnly, closed, mayContinue, null));
    rest = rest.substring(headBytes + (put ? (int) length : 0));
    toDrop = put ? 0 : bodyBytes;
    return true;
  }

  private boolean isOwn(String page) {
    return host != null
        && page.toLowerCase(Locale.ROOT)
            .matches("https?://" + Pattern.quote(host.toLowerCase(Locale.ROOT)));
  }

  private String range(String from, String to) {
    SortedMap<String, String> pairs = store.tailMap(from);
    if (to != null) {
      pairs = to.compareTo(from) > 0 ? pairs.headMap(to) : new TreeMap<>();
    }
    StringBuilder body = new StringBuilder();
    pairs.forEach((key, value) -> body.append(key).append('\n').append(value));
    return body.toString();
  }

  /** The known parameters, decoded; null if the query must be refused. */
  private Map<String, String> parameters(String query, boolean entity) {
    Set<String> wanted = entity ? Set.of("id") : Set.of("start", "end");
    Map<String, String> found = new TreeMap<>();
    for (String part : query.split("&", -1)) {
      if (part.replaceAll("%[0-9A-Fa-f]{2}", "").contains("%")) {
        return null;
      }
      int equals = part.indexOf('=');
      String name = equals < 0 ? part : part.substring(0, equals);
      if (wanted.contains(name)) {
        String value = equals < 0 ? "" : decode(part.substring(equals + 1));
        if (value == null || value.isEmpty() || value.length() > maxKeyBytes) {
          return null;
        }
        if (found.put(name, value) != null) {
          return null;
        }
      }
    }
    return found.containsKey(entity ? "id" : "start") ? found : null;
  }

  private static String decode(String text) {
    StringBuilder bytes = new StringBuilder();
    for (int i = 0; i < text.length(); i++) {
      if (text.charAt(i) == '%') {
        bytes.append((char) Integer.parseInt(text.substring(i + 1, i + 3), 16));
        i += 2;
      } else {
        bytes.append(text.charAt(i));
      }
    }
    try {
      byte[] raw = bytes.toString().getBytes(ISO_8859_1);
      StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(raw));
    } catch (CharacterCodingException e) {
      return null;
    }
    return bytes.toString();
  }
}
