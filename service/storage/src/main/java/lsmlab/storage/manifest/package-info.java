/**
 * The manifest alone decides which tables a store consists of and which logs it still needs.
 *
 * <p>It is one file, {@code MANIFEST}. Each change appends a record and syncs it. A manifest that
 * has grown too long is rewritten under another name; the new file then replaces it. All numbers
 * are little-endian.
 *
 * <pre>
 *  record:   ┌─────────┬────────────┬─────────┬─────────┐
 *            │ crc u32 │ length u32 │ type u8 │ payload │
 *            └─────────┴────────────┴─────────┴─────────┘
 *   crc:     CRC32C of everything after it, xor a hash of the record's offset
 *
 *  type 1 snapshot: magic u64 │ version u32 │ edit               the first record and only that
 *  type 2 edit:     next file u64 │ first log u64 │
 *                   removed u32 × {number u64} │ added u32 × {number u64 │ level u32 │ order u64 │ bytes u64} │
 *                   durable logs u32 × {number u64 │ length u64}
 *  type 3 synced:   offset u64                                   everything before it is on the device
 * </pre>
 *
 * <p>A durable log is one whose file and first {@code length} bytes are on the device, as are all
 * needed logs before it. It is the first log of each start and, after a clean stop, the last log.
 * The logs name their predecessors, so naming one is enough. The last such record counts; number
 * and length are 0 if there is none.
 *
 * <p>A {@code synced} record follows each edit before files are deleted that the edit made
 * unnecessary. This distinguishes a damaged edit from a torn end. A record below the last synced
 * offset that is not whole is damaged. Nothing ever relied on a record above it, so it is cut off.
 */
package lsmlab.storage.manifest;
