/**
 * The write-ahead log: one file for each memtable, {@code NNNNNN.wal}, removed once the memtable is in a table that the
 * manifest names.
 *
 * <p>All numbers are little-endian.
 *
 * <pre>
 *  file:   records, one after the other
 *
 *  record: ┌─────────┬────────────┬─────────┬─────────┬─────────┐
 *          │ crc u32 │ length u32 │ log u64 │ type u8 │ payload │
 *          └─────────┴────────────┴─────────┴─────────┴─────────┘
 *   crc:    CRC32C of everything after it
 *   length: of the payload;  log: the number in the file's name
 *
 *  type 1 put:    key bytes u16 │ key │ value
 *  type 2 delete: key
 *  type 3 begin:  version u32 │ durability u8 │ previous log u64 │ its length u64      the file's first record
 *  type 4 synced: offset u64                                                          all before it is on the device
 * </pre>
 *
 * <p>Under {@code power} the file ends with zeros, room for the records to come: syncing bytes that only replace others needs
 * no commit of the file system's journal. They are cut off when the store is closed.
 *
 * <p>Where reading meets a record that is not whole there are two cases. Either the end of the log was lost with the
 * power or the process before anyone was told that it is kept, then the log is cut there; or something acknowledged was
 * damaged, then the store must not be opened. It is the second case if the place is below an offset that a {@code synced}
 * record anywhere in the file, or the next log's {@code begin}, claims to be kept; or if whole records follow although
 * the gap does not look as lost pages do: zeros to the end of a page.
 */
package lsmlab.storage.wal;
