/**
 * The storage engine's public API: an ordered key-value store that keeps what it acknowledged.
 *
 * <p>{@link lsmlab.storage.Engine} is the entry; {@code engines} lists the engines by name, {@code lsm} holds the
 * log-structured merge tree. The file formats are drawn in the packages {@code table}, {@code wal} and {@code manifest};
 * every byte on disk goes through {@code file.StoreDirectory}.
 *
 * <pre>
 *   engines ─► lsm ─► bulk, table, wal, manifest, memtable ─► cursor, file ─► this package
 * </pre>
 */
package lsmlab.storage;
