/** Walking pairs in key order, and many walks as one. */
package lsmlab.storage.cursor;
