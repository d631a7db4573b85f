/**
 * The server variants: how a parsed request reaches the storage and its response reaches the socket.
 *
 * <p>A variant sees {@link lsmlab.server.request.Request} and, if it writes batches, the engine's {@code write}. It
 * does not know HTTP, so it can be tested without a socket.
 */
package lsmlab.server.variant;
