/** The whole service under load from another CPU, against a one-nio handler that does nothing. */
package lsmlab.bench.server;
