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
 *                   logs u32 × {number u64 │ length u64}
 *  type 3 synced:   offset u64                                   everything before it is on the device
 * </pre>
 *
 * <p>{@code logs} names logs that must exist from then on, each with the number of bytes that are
 * known to be durable. When the store is opened and at each flush, that is the log in use. When the
 * store is closed, it is all logs that are still needed, with their whole lengths.
 *
 * <p>A {@code synced} record follows each edit before files are deleted that the edit made
 * unnecessary. This distinguishes a damaged edit from a torn end. A record below the last synced
 * offset that is not whole is damaged. Nothing ever relied on a record above it, so it is cut off.
 */
package lsmlab.storage.manifest;
