/**
 * The engine {@code textbook}: a log-structured merge tree as a course teaches it, to read and to
 * measure what each part that it lacks brings.
 *
 * <p><b>A write does not survive a kill.</b> There is no WAL: a write is in the heap until its
 * memtable is flushed, and only a clean stop flushes the last one.
 *
 * <pre>
 *   put ─► active memtable ─(flush_threshold)─► sealed memtables ─(flush threads)─► tables
 *   get ─► active memtable, then sealed memtables and tables, newest to oldest
 * </pre>
 *
 * <p>A memtable is a skip list in the heap. It is sealed when the counter of its bytes passes the
 * threshold; each flush thread turns one sealed memtable at a time into a table. {@link
 * lsmlab.storage.FlushBacklog} says what a writer meets if flushes do not keep up. A lookup searches each
 * table by binary search. There is no block, no cache, no checksum, no compression and no manifest;
 * tables are merged only on request.
 *
 * <p>Files are little-endian. A table's name, such as {@code 000003-000007.sst}, gives the numbers
 * of the first and the last memtable whose pairs it holds. So the directory itself says which
 * tables are newer, and that a table is obsolete because another one covers its numbers. A file is
 * written as {@code .part} and renamed when it is complete.
 *
 * <pre>
 *   offset
 *   0        8   LSMTEXT and the version, one byte          (never changes)
 *   8        8   count of records, n
 *   16       8   bytes of the bloom filter, f: 0 or a multiple of 64
 *   24       8   length of the file
 *   32      32   zero
 *   64       f   bloom filter
 *   64+f    8n   position of each record, from the start of the file
 *   64+f+8n      n records in key order: key length (4), value length (4; -1 = tombstone), key, value
 * </pre>
 *
 * <p>Read {@link TextbookEngine}, then {@code SkipListMemtable}, {@code MappedTable} and {@code
 * MergingIterator}.
 */
package lsmlab.storage.textbook;
