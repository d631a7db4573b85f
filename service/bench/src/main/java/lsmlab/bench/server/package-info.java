/** Benchmarks of the whole service, under load from another CPU: the cost of a request by layer and variant, and overload. */
package lsmlab.bench.server;
