package lsmlab.server.http;

import java.util.ArrayList;
import java.util.List;

/**
 * The responses of the data port to given bytes. Every case starts from a store with {@code k → value} and {@code empty
 * → }. It states the expected statuses, and whether the connection stays open.
 */
final class ConformanceCases {

  /**
   * One case.
   *
   * @param open whether the connection can be used afterwards
   */
  record Case(String name, String bytes, List<Integer> statuses, boolean open) {
    @Override
    public String toString() {
      return name;
    }
  }

  private static final String H = "Host: h\r\n";
  private final List<Case> cases = new ArrayList<>();

  private ConformanceCases() {}

  static List<Case> all() {
    ConformanceCases all = new ConformanceCases();
    all.served();
    all.queries();
    all.paths();
    all.methods();
    all.bodies();
    all.persistence();
    all.lines();
    all.headers();
    all.limits();
    all.pipelines();
    return all.cases;
  }

  private void served() {
    open("get", get("id=k"), 200);
    open("get absent", get("id=absent"), 404);
    open("get empty value", get("id=empty"), 200);
    open("put", put("id=new", "v"), 201);
    open("put again", put("id=k", "other"), 201);
    open("put empty value", put("id=e", ""), 201);
    open("put value with line ends", put("id=e", "\r\n\r\nGET / HTTP/1.1\r\n\r\n"), 201);
    open("delete", request("DELETE", "/v0/entity?id=k", ""), 202);
    open("delete absent", request("DELETE", "/v0/entity?id=absent", ""), 202);
    open("range", request("GET", "/v0/entities?start=a", ""), 200);
    open("range with end", request("GET", "/v0/entities?start=a&end=b", ""), 200);
    open("range backwards is empty", request("GET", "/v0/entities?start=b&end=a", ""), 200);
    open("range with end before start", request("GET", "/v0/entities?end=z&start=a", ""), 200);
  }

  private void queries() {
    open("no query", request("GET", "/v0/entity", ""), 400);
    open("empty query", get(""), 400);
    open("id missing", get("other=k"), 400);
    open("id empty", get("id="), 400);
    open("id without equals", get("id"), 400);
    open("id in other case", get("ID=k"), 400);
    open("id as the end of a name", get("xid=k"), 400);
    open("id twice", get("id=k&id=k"), 400);
    open("id among others", get("a=1&id=k&b=2"), 200);
    open("id after empty parameters", get("&&id=k&"), 200);
    open("value with equals", get("id=k=k"), 404);
    open("value with question mark", get("id=k?k"), 404);
    open("value with slash", get("id=k/k"), 404);
    open("percent", get("id=%6b"), 200);
    open("percent in upper case", get("id=%6B"), 200);
    open("percent cut short", get("id=k%6"), 400);
    open("percent alone", get("id=%"), 400);
    open("percent without hex", get("id=%zz"), 400);
    open("percent with sign", get("id=%+1"), 400);
    open("percent malformed in another parameter", get("a=%&id=k"), 400);
    open("plus is a plus", put("id=a%2Bb", "v") + get("id=a+b"), 201, 200);
    open("plus is no space", put("id=a%20b", "v") + get("id=a+b"), 201, 404);
    open("nul", put("id=%00", "v") + get("id=%00"), 201, 200);
    open("UTF-8 of two bytes", get("id=%C3%A9"), 404);
    open("UTF-8 of three bytes", get("id=%E2%82%AC"), 404);
    open("UTF-8 of four bytes", get("id=%F0%9F%98%80"), 404);
    open("UTF-8 overlong", get("id=%C0%80"), 400);
    open("UTF-8 overlong in three bytes", get("id=%E0%80%80"), 400);
    open("UTF-8 surrogate", get("id=%ED%A0%80"), 400);
    open("UTF-8 too large", get("id=%F4%90%80%80"), 400);
    open("UTF-8 cut short", get("id=%E2%82"), 400);
    open("UTF-8 without lead", get("id=%80"), 400);
    open("UTF-8 lead alone", get("id=%C3k"), 400);
    open("range without start", request("GET", "/v0/entities", ""), 400);
    open("range with empty start", request("GET", "/v0/entities?start=", ""), 400);
    open("range with empty end", request("GET", "/v0/entities?start=a&end=", ""), 400);
    open("range with malformed end", request("GET", "/v0/entities?start=a&end=%", ""), 400);
    open("range with start twice", request("GET", "/v0/entities?start=a&start=b", ""), 400);
  }

  private void paths() {
    open("unknown path", request("GET", "/", ""), 400);
    open("unknown path with id", request("GET", "/v0/entit?id=k", ""), 400);
    open("longer path", request("GET", "/v0/entity/?id=k", ""), 400);
    open("path in other case", request("GET", "/V0/ENTITY?id=k", ""), 400);
    open("path with escape", request("GET", "/v0/%65ntity?id=k", ""), 400);
    open("unknown path, other method", request("POST", "/x", "Content-Length: 0\r\n"), 400);
    open("absolute form", request("GET", "http://h:1/v0/entity?id=k", ""), 200);
    open("absolute form, scheme in capitals", request("GET", "HTTP://h:1/v0/entity?id=k", ""), 200);
    open("absolute form without path", request("GET", "http://h", ""), 400);
    open("asterisk form", request("OPTIONS", "*", ""), 400);
    open("authority form", request("CONNECT", "h:80", ""), 400);
  }

  private void methods() {
    open("post", request("POST", "/v0/entity?id=k", "Content-Length: 0\r\n"), 405);
    open("post with body", request("POST", "/v0/entity?id=k", "Content-Length: 2\r\n") + "xy", 405);
    open("post without id", request("POST", "/v0/entity", "Content-Length: 0\r\n"), 405);
    open("patch", request("PATCH", "/v0/entity?id=k", ""), 405);
    open("options", request("OPTIONS", "/v0/entity?id=k", ""), 405);
    open("trace", request("TRACE", "/v0/entity?id=k", ""), 405);
    open("a method of its own", request("BREW", "/v0/entity?id=k", ""), 405);
    open("method in lower case is another", request("get", "/v0/entity?id=k", ""), 405);
    open(
        "put of a range",
        request("PUT", "/v0/entities?start=a", "Content-Length: 1\r\n") + "x",
        405);
    open("delete of a range", request("DELETE", "/v0/entities?start=a", ""), 405);
  }

  private void bodies() {
    String target = "/v0/entity?id=n";
    open("put without length", request("PUT", target, ""), 411);
    closed(
        "put chunked",
        request("PUT", target, "Transfer-Encoding: chunked\r\n") + "1\r\nx\r\n0\r\n\r\n",
        411);
    closed("get chunked", request("GET", target, "Transfer-Encoding: chunked\r\n"), 411);
    closed(
        "both lengths",
        request("PUT", target, "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n") + "x",
        411);
    closed("length malformed", request("PUT", target, "Content-Length: x\r\n"), 400);
    closed("length negative", request("PUT", target, "Content-Length: -1\r\n"), 400);
    closed("length with plus", request("PUT", target, "Content-Length: +1\r\n") + "x", 400);
    closed("length empty", request("PUT", target, "Content-Length:\r\n"), 400);
    closed("length a list", request("PUT", target, "Content-Length: 1, 1\r\n") + "x", 400);
    closed(
        "length twice",
        request("PUT", target, "Content-Length: 1\r\nContent-Length: 2\r\n") + "xy",
        400);
    closed(
        "length too large for a number",
        request("PUT", target, "Content-Length: 99999999999999999999\r\n"),
        400);
    open("length in other case", request("PUT", target, "cOnTeNt-LeNgTh:1\r\n") + "x", 201);
    open("length with blanks", request("PUT", target, "Content-Length: \t 1 \t\r\n") + "x", 201);
    open("get with body", request("GET", "/v0/entity?id=k", "Content-Length: 3\r\n") + "xyz", 200);
    open("delete with body", request("DELETE", target, "Content-Length: 3\r\n") + "xyz", 202);
    open(
        "put without id, body dropped",
        request("PUT", "/v0/entity", "Content-Length: 3\r\n") + "xyz",
        400);
    String large = "x".repeat(TestServer.MAX_VALUE_BYTES + 1);
    open("largest value", put("id=n", large.substring(1)), 201);
    open("value over the limit, body dropped", put("id=n", large), 413);
    closed(
        "length far over the limit",
        request("PUT", target, "Content-Length: 999999999999\r\n"),
        413);
    closed(
        "expects leave, too large",
        request("PUT", target, "Expect: 100-continue\r\nContent-Length: 9999999\r\n"),
        413);
    open(
        "expects leave",
        request("PUT", target, "Expect: 100-continue\r\nContent-Length: 2\r\n"),
        100);
    open(
        "expects leave, body at once",
        request("PUT", target, "Expect: 100-continue\r\nContent-Length: 2\r\n") + "xy",
        201);
  }

  private void persistence() {
    closed("close", request("GET", "/v0/entity?id=k", "Connection: close\r\n"), 200);
    closed("close in other case", request("GET", "/v0/entity?id=k", "connection: CLOSE\r\n"), 200);
    closed("close in a list", request("GET", "/v0/entity?id=k", "Connection: x, close\r\n"), 200);
    open(
        "close as part of a word",
        request("GET", "/v0/entity?id=k", "Connection: closed\r\n"),
        200);
    open("keep-alive", request("GET", "/v0/entity?id=k", "Connection: keep-alive\r\n"), 200);
    closed("close after 400", request("GET", "/", "Connection: close\r\n"), 400);
    closed(
        "what follows close is not answered",
        request("GET", "/v0/entity?id=k", "Connection: close\r\n") + get("id=k"),
        200);
    closed("HTTP/1.0", "GET /v0/entity?id=k HTTP/1.0\r\n\r\n", 200);
    open(
        "HTTP/1.0 keep-alive",
        "GET /v0/entity?id=k HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
        200);
    closed("HTTP/1.0 put", "PUT /v0/entity?id=n HTTP/1.0\r\nContent-Length: 1\r\n\r\nx", 201);
    open("HTTP/1.2 is served as 1.1", "GET /v0/entity?id=k HTTP/1.2\r\n" + H + "\r\n", 200);
    closed("HTTP/2.0", "GET /v0/entity?id=k HTTP/2.0\r\n" + H + "\r\n", 505);
    closed("HTTP/0.9", "GET /v0/entity?id=k\r\n\r\n", 400);
    closed("HTTP/1.0 without length", "PUT /v0/entity?id=n HTTP/1.0\r\n\r\n", 411);
    closed("HTTP/1.0 range", "GET /v0/entities?start=a HTTP/1.0\r\n\r\n", 505);
    open(
        "HTTP/1.0 range, keep-alive",
        "GET /v0/entities?start=a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        505);
    open(
        "HTTP/1.0 keep-alive twice",
        "GET /v0/entity?id=k HTTP/1.0\r\nConnection: keep-alive\r\n\r\n".repeat(2),
        200,
        200);
    closed(
        "keep-alive and close",
        request("GET", "/v0/entity?id=k", "Connection: keep-alive\r\nConnection: close\r\n"),
        200);
    closed("close after 405", request("PATCH", "/v0/entity?id=k", "Connection: close\r\n"), 405);
    closed(
        "close after 201",
        put("id=n", "v").replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"),
        201);
    closed("HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505);
  }

  private void lines() {
    closed("no method", " /v0/entity?id=k HTTP/1.1\r\n" + H + "\r\n", 400);
    closed("no target", "GET HTTP/1.1\r\n" + H + "\r\n", 400);
    closed("no version", "GET /v0/entity?id=k\r\n" + H + "\r\n", 400);
    closed("two blanks", "GET  /v0/entity?id=k HTTP/1.1\r\n" + H + "\r\n", 400);
    closed("blank in target", "GET /v0/entity?id=k k HTTP/1.1\r\n" + H + "\r\n", 400);
    closed("tab for blank", "GET\t/v0/entity?id=k HTTP/1.1\r\n" + H + "\r\n", 400);
    closed("blank at the end", "GET /v0/entity?id=k HTTP/1.1 \r\n" + H + "\r\n", 400);
    closed("version in lower case", "GET /v0/entity?id=k http/1.1\r\n" + H + "\r\n", 400);
    closed("version too short", "GET /v0/entity?id=k HTTP/1\r\n" + H + "\r\n", 400);
    closed("version too long", "GET /v0/entity?id=k HTTP/1.10\r\n" + H + "\r\n", 400);
    closed("fragment", "GET /v0/entity?id=k#f HTTP/1.1\r\n" + H + "\r\n", 400);
    closed(
        "control character in target", "GET /v0/entity?id=\u0001 HTTP/1.1\r\n" + H + "\r\n", 400);
    closed("byte over 127 in target", "GET /v0/entity?id=\u00e9 HTTP/1.1\r\n" + H + "\r\n", 400);
    closed("bare LF", "GET /v0/entity?id=k HTTP/1.1\n", 400);
    closed("bare CR", "GET /v0/entity?id=k HTTP/1.1\rHost: h\r\n\r\n", 400);
    closed("bare LF after a header", "GET /v0/entity?id=k HTTP/1.1\r\nHost: h\n", 400);
    closed("garbage", "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\r\n\r\n", 400);
    open("empty lines before a request", "\r\n\r\n" + get("id=k"), 200);
  }

  private void headers() {
    String line = "GET /v0/entity?id=k HTTP/1.1\r\n";
    closed("no host", line + "\r\n", 400);
    closed("two hosts", line + H + H + "\r\n", 400);
    open("empty host", line + "Host:\r\n\r\n", 200);
    closed("host with a blank", line + "Host: a b\r\n\r\n", 400);
    closed("host with a path", line + "Host: a/b\r\n\r\n", 400);
    open("host of version 6 with port", line + "Host: [::1]:8080\r\n\r\n", 200);
    open("own origin", line + "Host: h:80\r\nOrigin: http://H:80\r\n\r\n", 200);
    open("foreign origin", line + H + "Origin: http://evil.example\r\n\r\n", 403);
    open("origin null", line + H + "Origin: null\r\n\r\n", 403);
    open("origin with another port", line + H + "Origin: http://h:81\r\n\r\n", 403);
    closed(
        "origin without host", "GET /v0/entity?id=k HTTP/1.0\r\nOrigin: http://null\r\n\r\n", 403);
    closed("blank before colon", line + "Host : h\r\n\r\n", 400);
    closed("no colon", line + H + "header\r\n\r\n", 400);
    closed("no name", line + H + ": x\r\n\r\n", 400);
    closed("folded", line + H + "X: a\r\n b\r\n\r\n", 400);
    closed("nul in a value", line + H + "X: a\u0000b\r\n\r\n", 400);
    closed("delete in a value", line + H + "X: a\u007fb\r\n\r\n", 400);
    closed("separator in a name", line + H + "X(y): a\r\n\r\n", 400);
    open("byte over 127 in a value", line + H + "X: \u00e9\r\n\r\n", 200);
    open("value with colons", line + H + "X: a:b:c\r\n\r\n", 200);
  }

  private void limits() {
    String line = "GET /v0/entity?id=k HTTP/1.1\r\n" + H;
    open("100 headers", line + "X: y\r\n".repeat(LsmHttpRequest.HEADERS_MAX - 1) + "\r\n", 200);
    closed("101 headers", line + "X: y\r\n".repeat(LsmHttpRequest.HEADERS_MAX) + "\r\n", 431);
    int longest = LsmHttpRequest.LINE_BYTES_MAX;
    String x = "X: " + "y".repeat(longest - 5) + "\r\n";
    open("longest header", line + x + "\r\n", 200);
    closed("header too long", line + "y" + x + "\r\n", 431);
    open("longest headers together", line + x.repeat(7) + "\r\n", 200);
    closed("headers too long together", line + x.repeat(8) + "\r\n", 431);
    closed("flood of headers without end", line + "X: y\r\n".repeat(5_000), 431);
    closed("flood of empty names", line + ": y\r\n".repeat(50) + "\r\n", 400);
    open("1000 empty lines before a request", "\r\n".repeat(1_000) + get("id=k"), 200);
    closed("header without end", line + "X: " + "y".repeat(longest), 431);
    String key = "x".repeat(longest - "DELETE /v0/entity?id= HTTP/1.1\r\n".length());
    open(
        "longest key",
        put("id=" + key, "v") + get("id=" + key) + request("DELETE", "/v0/entity?id=" + key, ""),
        201,
        200,
        202);
    open("longest key, escaped", get("id=" + "%78".repeat(key.length() / 3)), 404);
    for (String method : new String[] {"GET", "HEAD", "PUT", "DELETE"}) {
      closed("key too long for a " + method, request(method, "/v0/entity?id=x" + key, ""), 414);
    }
    closed("request line without end", "GET /v0/entity?id=" + "x".repeat(200_000), 414);
  }

  private void pipelines() {
    open("two gets", get("id=k") + get("id=absent"), 200, 404);
    open("put and get", put("id=p", "v") + get("id=p"), 201, 200);
    open(
        "put, delete, get",
        put("id=p", "v") + request("DELETE", "/v0/entity?id=p", "") + get("id=p"),
        201,
        202,
        404);
    open(
        "errors in between",
        get("id=") + get("id=k") + request("POST", "/v0/entity", "") + get("id=k"),
        400,
        200,
        405,
        200);
    open(
        "dropped bodies in between",
        request("GET", "/v0/entity?id=k", "Content-Length: 5\r\n") + "GET /" + get("id=k"),
        200,
        200);
    open("range and get", request("GET", "/v0/entities?start=a", "") + get("id=k"), 200, 200);
    open(
        "body of one is not the head of the next",
        put("id=p", get("id=absent")) + get("id=p"),
        201,
        200);
    closed(
        "body longer than declared is the next request",
        request("PUT", "/v0/entity?id=p", "Content-Length: 2\r\n") + "xyz\r\n\r\n",
        201,
        400);
    open(
        "refusals of every kind in between",
        get("")
            + request("POST", "/v0/entity?id=k", "Content-Length: 4\r\n")
            + "GET "
            + request("PUT", "/v0/entity?id=k", "")
            + request("DELETE", "/v0/entities?start=a", "")
            + get("id=%ff")
            + get("id=k"),
        400,
        405,
        411,
        405,
        400,
        200);
    closed(
        "chunked in a pipeline",
        get("id=k")
            + request("PUT", "/v0/entity?id=p", "Transfer-Encoding: chunked\r\n")
            + "1\r\nx\r\n0\r\n\r\n",
        200,
        411);
    open(
        "range, put, range",
        request("GET", "/v0/entities?start=a", "")
            + put("id=p", "v")
            + request("GET", "/v0/entities?start=p&end=q", ""),
        200,
        201,
        200);
    open("empty lines in between", get("id=k") + "\r\n\r\n" + get("id=k"), 200, 200);
    closed("nothing after a malformed one", get("id=k") + "BAD\r\n\r\n" + get("id=k"), 200, 400);
  }

  private void open(String name, String bytes, Integer... statuses) {
    cases.add(new Case(name, bytes, List.of(statuses), true));
  }

  private void closed(String name, String bytes, Integer... statuses) {
    cases.add(new Case(name, bytes, List.of(statuses), false));
  }

  static String request(String method, String target, String headers) {
    return method + " " + target + " HTTP/1.1\r\n" + H + headers + "\r\n";
  }

  static String get(String query) {
    return request("GET", "/v0/entity?" + query, "");
  }

  static String put(String query, String body) {
    return request("PUT", "/v0/entity?" + query, "Content-Length: " + body.length() + "\r\n")
        + body;
  }
}
