/** Cursors over pairs in key order, and the merge of several cursors. */
package lsmlab.storage.cursor;
