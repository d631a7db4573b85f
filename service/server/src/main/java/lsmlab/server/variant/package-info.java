/**
 * The server variants: how a parsed request reaches the storage and its reply reaches the socket.
 *
 * <p>A variant sees {@link lsmlab.server.variant.Request} and, if it writes batches, the engine's {@code write}. It knows
 * nothing of HTTP, so it can be tested without a socket.
 */
package lsmlab.server.variant;
