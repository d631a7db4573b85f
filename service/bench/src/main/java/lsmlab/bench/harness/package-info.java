/** The parts that both benchmarks share: measuring in rounds, summaries, output files, facts about the machine. */
package lsmlab.bench.harness;
