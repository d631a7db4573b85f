/** From the figures of single measurements to comparisons, and from those to JSON and Markdown. */
package lsmlab.bench.report;
