/** The engines that a configuration can name, and those that keep nothing on disk. */
package lsmlab.storage.engines;
