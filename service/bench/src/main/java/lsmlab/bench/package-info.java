/**
 * The storage engine against its peers, and micro-benchmarks of its parts.
 *
 * <p>{@link lsmlab.bench.BenchStorage} is the paired harness: for each {@linkplain lsmlab.bench.workload workload} it
 * starts one JVM after the other, engines alternating (A B B A A B …), each with the same keys, values, durability and
 * heap, and compares the medians. A JVM of its own for every measurement keeps one engine's profile out of another's
 * compiled code, and makes run-to-run variance visible. {@link lsmlab.bench.micro} holds the JMH benchmarks.
 */
package lsmlab.bench;
