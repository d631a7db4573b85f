/**
 * The interface to the file system, the names of numbered files, and helper classes that read, compare, hash and
 * checksum bytes.
 */
package lsmlab.storage.file;
