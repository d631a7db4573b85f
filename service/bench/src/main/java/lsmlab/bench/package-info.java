/**
 * The benchmarks' command line: {@code storage} is the storage engine against its peers, {@code server} the whole service
 * as a ladder and under overload, {@code micro} the JMH benchmarks. All figures come from one {@linkplain
 * lsmlab.bench.harness harness}.
 */
package lsmlab.bench;
