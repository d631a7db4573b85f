/**
 * The log-structured merge tree: commits writes, flushes memtables, merges tables and recovers a
 * store.
 *
 * <pre>
 *   put ─► WriteController ─► CommitPipeline ─► WAL file
 *                                          └──► active memtable ──sealed──► Flusher ──► table of level 0
 *   get ─► ReadGate ─► Version: active memtable, sealed ones, tables newest first       Compactor merges tables
 *                         ▲
 *                      VersionSet: replaces it with each change, after the manifest says so
 * </pre>
 *
 * <p>Start at {@link lsmlab.storage.lsm.LsmEngine}. {@link lsmlab.storage.lsm.StoreVerifier} and
 * {@link lsmlab.storage.lsm.StoreDumper} inspect a closed store. The package {@code version} holds
 * the content of the store at one moment.
 */
package lsmlab.storage.lsm;
