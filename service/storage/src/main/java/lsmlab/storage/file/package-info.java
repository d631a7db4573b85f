/**
 * The interface to the file system, and helper classes that read, compare, hash and checksum bytes.
 */
package lsmlab.storage.file;
