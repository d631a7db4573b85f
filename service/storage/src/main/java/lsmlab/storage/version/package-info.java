/**
 * The content of a store at one moment: its memtables and tables, how they are replaced, and the
 * scans that keep old ones alive.
 */
package lsmlab.storage.version;
