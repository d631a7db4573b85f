/** A request as variants see it, and why one is refused. */
package lsmlab.server.request;
