/**
 * The manifest: the only truth about which tables a store consists of and which logs it still needs.
 *
 * <p>One file, {@code MANIFEST}, appended to and synced with every change; when it has grown it is written anew beside
 * and renamed over. All numbers are little-endian.
 *
 * <pre>
 *  record:   ┌─────────┬────────────┬─────────┬─────────┐
 *            │ crc u32 │ length u32 │ type u8 │ payload │
 *            └─────────┴────────────┴─────────┴─────────┘
 *   crc:     CRC32C of everything after it, xor a hash of the record's place
 *
 *  type 1 snapshot: magic u64 │ version u32 │ edit               the first record and only that
 *  type 2 edit:     next file u64 │ first log u64 │
 *                   removed u32 × {number u64} │ added u32 × {number u64 │ level u32 │ order u64 │ bytes u64} │
 *                   logs u32 × {number u64 │ length u64}
 *  type 3 synced:   offset u64                                   all before it is on the device
 * </pre>
 *
 * <p>{@code logs} names logs that must be there from then on, each with the bytes that are certainly on the device: the
 * log in use when the store is opened and at each flush, and the last one with its whole length when the store is closed.
 *
 * <p>A {@code synced} record follows each edit before anything is removed that the edit made superfluous. So the last
 * edit can be told from a torn tail: what ends at or below the last synced offset is damaged when it is not whole, what
 * begins above it was never relied upon and is cut.
 */
package lsmlab.storage.manifest;
