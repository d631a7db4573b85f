/**
 * The write-ahead log: one file for each memtable, {@code NNNNNN.wal}, removed once the memtable is in a table that the
 * manifest names.
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
 * <p>Under {@code power} the file ends with zeros, room for the records to come: syncing bytes that only replace others needs
 * no commit of the file system's journal. They are cut off when the store is closed.
 *
 * <p>The salt is random and part of the head of every record but {@code begin}. So bytes of a value cannot pass for a
 * record, not even a copy of the log itself: no copy lies where the original does.
 *
 * <p>A {@code synced} record follows each group that was synced. It is handed to the kernel before the writers are
 * answered and reaches the device with the next sync; so a store whose process was killed knows what was acknowledged.
 *
 * <p>If reading meets a record that is not whole, either the end of the log was lost before anyone was told that it is
 * kept, and the log is cut there; or something acknowledged was damaged, and the store must not be opened. It is damage if
 * <ul>
 *   <li>the place is below an offset that a {@code synced} record anywhere in the file, the next log's {@code begin} or the
 *       manifest gives as kept;
 *   <li>or no sector of 512 bytes from there to the next whole record is zeros, as one that never reached the device is,
 *       and either whole records follow, or the log is a {@code process} one and its file does not end within the record.
 * </ul>
 *
 * <p>Under {@code process} the loss of power may take any sector. A damaged record whose value holds a sector of zeros
 * cannot be told from that, and neither can a file that was cut short: the log is cut there, as after a loss of power.
 */
package lsmlab.storage.wal;
