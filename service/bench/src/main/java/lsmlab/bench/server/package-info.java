/** The whole service under load from another CPU: a ladder of what a request costs, and overload. */
package lsmlab.bench.server;
