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
 * What the data port must answer to a stream of bytes, whatever their split: a second parser, slow and written with
 * regular expressions and the JDK's decoders, that shares no code with the server's. Texts are Latin-1: a char is a
 * byte. One connection, one thread.
 */
final class HttpModel {

  /**
   * A reply that must come.
   *
   * @param statuses more than one where limits and malformed lines meet, whichever the server sees first
   * @param body the exact body, null where it only has to say what was wrong
   * @param headOnly the reply has no body though it may give a length
   * @param mayContinue 100 Continue may come before it
   */
  record Expected(
      Set<Integer> statuses,
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

  HttpModel(int maxValueBytes, int maxKeyBytes) {
    this.maxValueBytes = maxValueBytes;
    this.maxKeyBytes = maxKeyBytes;
  }

  /** Whether the server ends the connection after the last reply. */
  boolean closed() {
    return closed;
  }

  /** Whether the connection is between two requests. */
  boolean complete() {
    return rest.isEmpty() && toDrop == 0;
  }

  /** Whether a request waits for its body after having asked for leave to send it, so that a 100 may come by itself. */
  boolean promised() {
    return promised;
  }

  /** The replies to what these bytes complete. */
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

  /** Takes one request off the stream; false where more is needed. */
  private boolean request(List<Expected> all) {
    int end = rest.indexOf("\r\n\r\n");
    if (rest.startsWith("\r\n")) {
      rest = rest.substring(2);
      return true;
    }
    String head = end < 0 ? rest : rest.substring(0, end + 2);
    Set<Integer> broken = new HashSet<>();
    Matcher badEnd = Pattern.compile("\\r[^\\n]|(?<!\\r)\\n", Pattern.DOTALL).matcher(head);
    int firstBad = badEnd.find() ? badEnd.start() : -1;
    if (firstBad >= 0) {
      broken.add(400);
      head = head.substring(0, firstBad);
    }
    int lineEnd = head.indexOf("\r\n");
    int lineBytes = lineEnd < 0 ? head.length() : lineEnd + 2;
    if (lineBytes > RequestHead.LINE_BYTES_MAX) {
      broken.add(414);
    } else if (head.length() + (end < 0 ? 0 : 2) - lineBytes > RequestHead.HEADER_BYTES_MAX) {
      broken.add(431);
    }
    if (broken.isEmpty() && end < 0) {
      return false;
    }
    if (broken.isEmpty()) {
      int status = parse(head);
      if (status == 0) {
        return serve(all, end + 4);
      }
      broken.add(status);
    } else if (end >= 0) {
      broken.add(400);
    }
    all.add(new Expected(broken, null, false, true, false, null));
    closed = true;
    return false;
  }

  /** Parses a whole head without its empty line; returns 0, or the status with which the connection ends. */
  private int parse(String head) {
    String[] lines = head.split("\r\n", -1);
    Matcher line = REQUEST_LINE.matcher(lines[0]);
    if (!line.matches()) {
      return 400;
    }
    method = line.group(1);
    target = line.group(2);
    String version = line.group(3);
    if (version.charAt(5) != '1') {
      return 505;
    }
    http10 = version.endsWith("0");
    expect = false;
    length = -1;
    boolean chunked = false;
    int hosts = 0;
    Set<String> options = new HashSet<>();
    for (int i = 1; i < lines.length - 1; i++) {
      if (i > RequestHead.HEADERS_MAX) {
        return 431;
      }
      Matcher header = HEADER.matcher(lines[i]);
      if (!header.matches()) {
        return 400;
      }
      String value = header.group(2).replaceAll("^[ \\t]+|[ \\t]+$", "");
      switch (header.group(1).toLowerCase(Locale.ROOT)) {
        case "host" -> hosts++;
        case "transfer-encoding" -> chunked = true;
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
          // says nothing to this server
        }
      }
    }
    keepAlive = !options.contains("close") && (!http10 || options.contains("keep-alive"));
    if (chunked) {
      return 411;
    }
    return hosts == 1 || http10 && hosts == 0 ? 0 : 400;
  }

  /** Answers a request whose head is well-formed and takes {@code headBytes}; false where its body is not there. */
  private boolean serve(List<Expected> all, int headBytes) {
    String path = target;
    if (path.startsWith("http://")) {
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
    } else if (!(entity ? Set.of("GET", "PUT", "DELETE") : Set.of("GET")).contains(method)) {
      refused = 405;
      allow = entity ? "GET, PUT, DELETE" : "GET";
    }
    Map<String, String> parameters = refused == 0 ? parameters(query, entity) : null;
    if (refused == 0 && parameters == null) {
      refused = 400;
    } else if (refused == 0 && method.equals("PUT")) {
      refused = length < 0 ? 411 : length > maxValueBytes ? 413 : 0;
    }
    long bodyBytes = Math.max(0, length);
    if (refused != 0) {
      closed = !keepAlive || bodyBytes > DROPPED_BYTES_MAX || expect && bodyBytes > 0;
      boolean headOnly = method.equals("HEAD");
      all.add(new Expected(Set.of(refused), null, headOnly, closed, false, allow));
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
    closed = !keepAlive || entities && http10;
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
    all.add(new Expected(Set.of(status), body, false, closed, mayContinue, null));
    rest = rest.substring(headBytes + (put ? (int) length : 0));
    toDrop = put ? 0 : bodyBytes;
    return true;
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

  /** The parameters that matter, decoded; null where the query must be refused. */
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
