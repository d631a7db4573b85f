/**
 * The storage engine: an ordered key-value store that keeps what it acknowledged.
 *
 * <pre>
 *   put ─► WriteController ─► CommitPipeline ─► WAL file
 *                                          └──► active memtable ──sealed──► Flusher ──► table of level 0
 *   get ─► ReadGate ─► Version: active memtable, sealed ones, tables newest first       Compactor merges tables
 *                         ▲
 *                      Versions: replaces it with each change, after the manifest says so
 * </pre>
 *
 * <p>{@link lsmlab.storage.Engine} is the door; {@link lsmlab.storage.Engines} lists what stands behind it. The file
 * formats are drawn in the packages {@code table}, {@code wal} and {@code manifest}; every byte on disk goes through
 * {@link lsmlab.storage.file.StoreDirectory}.
 */
package lsmlab.storage;
