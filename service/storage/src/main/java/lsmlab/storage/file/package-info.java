/** The file-system seam, and how bytes are read, compared, hashed and checksummed. */
package lsmlab.storage.file;
