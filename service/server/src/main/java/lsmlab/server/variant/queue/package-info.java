/** Queues of requests, and what a worker does while its queue is empty. */
package lsmlab.server.variant.queue;
