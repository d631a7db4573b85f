/**
 * JMH benchmarks of single parts, for questions that a benchmark of a whole store cannot answer.
 */
package lsmlab.bench.micro;
