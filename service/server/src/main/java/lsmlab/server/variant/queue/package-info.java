/** Where requests wait for a worker, and where workers wait for a request. */
package lsmlab.server.variant.queue;
