/** What both benchmarks share: contestants measured in turn, medians and spread, tables, the machine. */
package lsmlab.bench.harness;
