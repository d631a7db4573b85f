/**
 * The data port: HTTP/1.1 by one-nio's {@code HttpServer}, {@code HttpSession}, {@code Request} and {@code Response},
 * subclassed.
 *
 * <p>A request takes this path: a selector's thread reads and parses it ({@link lsmlab.server.http.InputSession},
 * {@link lsmlab.server.http.LsmHttpRequest}), the server wraps it in an {@link lsmlab.server.http.Exchange} and submits
 * that to the variant ({@link lsmlab.server.http.LsmHttpServer}), the variant executes it and sends the response
 * ({@link lsmlab.server.http.LsmHttpSession}). The other classes limit what a client can do to the server.
 */
package lsmlab.server.http;
