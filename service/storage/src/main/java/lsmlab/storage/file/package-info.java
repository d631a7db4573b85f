/** The interface to the file system, and helpers that read, compare, hash and checksum bytes. */
package lsmlab.storage.file;
