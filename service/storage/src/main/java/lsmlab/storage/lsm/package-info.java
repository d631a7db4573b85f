/**
 * The log-structured merge tree itself: how writes are committed, memtables flushed, tables merged, and a store recovered.
 *
 * <pre>
 *   put ─► WriteController ─► CommitPipeline ─► WAL file
 *                                          └──► active memtable ──sealed──► Flusher ──► table of level 0
 *   get ─► ReadGate ─► Version: active memtable, sealed ones, tables newest first       Compactor merges tables
 *                         ▲
 *                      VersionSet: replaces it with each change, after the manifest says so
 * </pre>
 *
 * <p>{@link lsmlab.storage.lsm.LsmEngine} is the entry; {@link lsmlab.storage.lsm.StoreVerifier} and {@link
 * lsmlab.storage.lsm.StoreDumper} look into a closed store.
 */
package lsmlab.storage.lsm;
