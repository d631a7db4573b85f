/**
 * The public API of the storage engine: an ordered key-value store that keeps every acknowledged
 * write.
 *
 * <p>Start at {@link lsmlab.storage.Engine}. {@code engines} lists the engines by name, {@code
 * lsm} holds the log-structured merge tree, and {@code textbook} the teaching engine. The packages
 * {@code table}, {@code wal}, {@code manifest} and {@code textbook} draw the file formats. Every byte
 * on disk goes through {@code file.StoreDirectory}.
 *
 * <pre>
 *   engines ─► lsm ─► version ─► bulk, table, wal, manifest, memtable ─► cursor, file ─► this package
 *   engines, bulk ─► textbook ─► table, file
 * </pre>
 */
package lsmlab.storage;
