/**
 * The write-ahead log: one file for each memtable, {@code NNNNNN.wal}, deleted once the memtable is
 * in a table that the manifest names.
 *
 * <p>All numbers are little-endian.
 *
 * <pre>
 *  file:   records, one after the other
 *
 *  record: ┌──────────┬─────────┬────────────┬─────────┬─────────┐
 *          │ head u32 │ crc u32 │ length u32 │ type u8 │ payload │
 *          └──────────┴─────────┴────────────┴─────────┴─────────┘
 *   head:   hash of crc, length, type, the record's offset in the file, the log's number and its salt
 *   crc:    CRC32C of the payload;  length: bytes of the payload
 *
 *  type 1 put:    key bytes u16 │ key │ value
 *  type 2 delete: key
 *  type 3 begin:  version u32 │ durability u8 │ previous log u64 │ its length u64 │ salt u64      the file's first record
 *  type 4 synced: offset u64                                                          everything before it is on the device
 * </pre>
 *
 * <p>Under {@code power} the file ends with preallocated zeros. The next records overwrite them.
 * Syncing overwritten bytes is cheaper than syncing appended ones, because it needs no commit of
 * the file system's journal. Closing the store removes the zeros.
 *
 * <p>The salt is random, and the head of every record but {@code begin} depends on it. So the bytes
 * of a value cannot pass for a record. A copy of the log's own records in a value cannot either,
 * because the head also depends on the record's offset.
 *
 * <p>A {@code synced} record follows each synced group. It is written before the writers of the
 * group get their responses, so a kill cannot lose it. After a kill the store therefore knows which
 * writes were acknowledged. The record reaches the device with the next sync.
 *
 * <p>A record that is not whole is either part of a <i>torn end</i> or <i>damage</i>. A torn end
 * was lost before its writes were acknowledged: the log is truncated there. Damage affects
 * acknowledged writes: the store does not open. It is damage in each of these cases:
 *
 * <ul>
 *   <li>The record's offset is below one that is known to be durable. A {@code synced} record
 *       anywhere in the file, the {@code begin} record of the next log and the manifest name such
 *       offsets.
 *   <li>Whole records follow, and no sector of 512 bytes from the record to the next whole one is
 *       all zeros. A sector of zeros never reached the device.
 *   <li>The log was written under {@code process}, its file does not end within the record, and no
 *       sector from there on is all zeros.
 * </ul>
 *
 * <p>Under {@code process} a loss of power may take any sector. Two kinds of damage look the same:
 * a damaged record whose value contains a sector of zeros, and a file that was cut short. In both
 * cases the log is truncated there.
 */
package lsmlab.storage.wal;
