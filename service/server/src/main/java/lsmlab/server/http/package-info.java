/**
 * The data port: HTTP/1.1 over one-nio's selectors and sockets.
 *
 * <p>one-nio accepts, and its sockets, sessions and (with its native transport) selectors read, write and select; the
 * loop that drives them and everything about HTTP are here, on bytes: no String is made of a request. A {@link
 * lsmlab.server.http.Connection} has one request in flight at a time and one {@link lsmlab.server.http.Exchange}, which it
 * uses again and again: this package allocates nothing for a GET.
 */
package lsmlab.server.http;
