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
 *   crc:    CRC32C of the payload;  length: of the payload
 *
 *  type 1 put:    key bytes u16 │ key │ value
 *  type 2 delete: key
 *  type 3 begin:  version u32 │ durability u8 │ previous log u64 │ its length u64 │ salt u64      the file's first record
 *  type 4 synced: offset u64                                                          all before it is on the device
 * </pre>
 *
 * <p>Under {@code power} the file ends with preallocated zeros for the next records, because
 * syncing bytes that only overwrite others needs no commit of the file system's journal. They are
 * cut off when the store is closed.
 *
 * <p>The salt is random, and the head of every record but {@code begin} depends on it. So bytes of
 * a value cannot pass for a record. Not even a copy of the log can, because its offset differs from
 * the original's.
 *
 * <p>A {@code synced} record follows each synced group. It is written before the writers get their
 * responses, and reaches the device with the next sync. So after a kill the store knows which
 * writes were acknowledged.
 *
 * <p>If the reader finds a record that is not whole, there are two cases. Either the end of the log
 * was lost before it was acknowledged, and the log is cut there; or acknowledged writes are
 * damaged, and the store must not be opened. It is damage if
 *
 * <ul>
 *   <li>its offset is below one that is recorded as durable, by a {@code synced} record anywhere in
 *       the file, by the {@code begin} record of the next log, or by the manifest;
 *   <li>or if no sector of 512 bytes from there to the next whole record is all zeros (such a
 *       sector never reached the device), and either whole records follow, or the log was written
 *       under {@code process} and its file does not end within the record.
 * </ul>
 *
 * <p>Under {@code process} a loss of power may take any sector. A damaged record whose value
 * contains a sector of zeros looks the same, and so does a file that was cut short. In both cases
 * the log is cut there, as after a loss of power.
 */
package lsmlab.storage.wal;
