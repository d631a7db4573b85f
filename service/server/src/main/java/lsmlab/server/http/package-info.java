/**
 * The data port: HTTP/1.1 over one-nio's selectors and sockets.
 *
 * <p>one-nio accepts, selects, reads and writes; everything about HTTP is here, on bytes: no String is made of a
 * request. A {@link lsmlab.server.http.Connection} has one request in flight at a time and one
 * {@link lsmlab.server.http.Exchange}, which it uses again and again: this package allocates nothing for a GET.
 */
package lsmlab.server.http;
