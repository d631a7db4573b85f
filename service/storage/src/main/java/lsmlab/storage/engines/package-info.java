/** The list of engines that a configuration can name, and the engines that have no files. */
package lsmlab.storage.engines;
