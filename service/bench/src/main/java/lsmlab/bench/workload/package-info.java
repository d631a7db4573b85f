/** What is done to an engine: one class a workload, each run in a JVM of its own, for one engine at a time. */
package lsmlab.bench.workload;
