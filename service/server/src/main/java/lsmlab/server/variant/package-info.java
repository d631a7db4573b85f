/**
 * The server variants: how a parsed request reaches the storage and its reply reaches the socket.
 *
 * <p>Knows neither HTTP nor the storage: a variant sees {@link lsmlab.server.variant.Request} alone, so it can be
 * tested without either.
 */
package lsmlab.server.variant;
