/** The commands that make and check stores: {@code load-dataset} and {@code verify}. */
package lsmlab.server.dataset;
