/** JMH benchmarks of single parts: for questions that a whole store in motion answers too coarsely. */
package lsmlab.bench.micro;
