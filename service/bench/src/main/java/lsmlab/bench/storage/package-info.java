/**
 * Compares the storage engine with its peers. Each measurement runs one {@linkplain
 * lsmlab.bench.storage.Workloads workload} on one engine in a {@linkplain lsmlab.bench.storage.Fork
 * JVM of its own}, with the same keys, values, durability and heap for all. So the profile of one
 * engine does not affect the compiled code of another, and the variation between JVMs becomes
 * visible.
 */
package lsmlab.bench.storage;
