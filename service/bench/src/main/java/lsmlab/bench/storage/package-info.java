/**
 * The storage engine against its peers. Each measurement is a {@linkplain lsmlab.bench.storage.Fork JVM of its own} that
 * runs one {@linkplain lsmlab.bench.storage.Workloads workload} on one engine, with the same keys, values, durability and
 * heap for all: no engine's profile shapes another's compiled code, and the variation from JVM to JVM shows.
 */
package lsmlab.bench.storage;
