/** The list of engines that a configuration can name, and the engines without files. */
package lsmlab.storage.engines;
