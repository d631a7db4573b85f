/**
 * SSTables: sorted, immutable, checksummed files of pairs and tombstones.
 *
 * <p>All numbers are little-endian. The magic and the meaning of {@code version} may never change;
 * everything else may, with a new version.
 *
 * <pre>
 *  file
 *  ┌──────────┬─────┬──────────┬───────┬────────┬────────────┬────────┐
 *  │ block 0  │  …  │ block n−1│ index │ filter │ properties │ footer │
 *  └──────────┴─────┴──────────┴───────┴────────┴────────────┴────────┘
 *   each begins at a multiple of 8        └ at a multiple of 64
 *
 *  block: keys are together at its start, so that a search touches few cache lines
 *  ┌─────────┬───────────┬───────────────────────────────────┬──────┬────────┬────────────┐
 *  │ crc u32 │ count u32 │ (count+1) × {key u32, value u32}  │ keys │ values │ zeros to 8 │
 *  └─────────┴───────────┴───────────────────────────────────┴──────┴────────┴────────────┘
 *   crc:   CRC32C of the rest of the block, xor a hash of the block's offset in the file;
 *          so a block at the wrong offset fails its check
 *   key:   offset of key i from the block's start; key i ends where key i+1 begins
 *   value: the same for value i; bit 31 is set for a tombstone
 *
 *  compressed block, at most 16 MiB before compression: bit 31 of its second number is set
 *  ┌─────────┬─────────────┬────────────────┬───────────────────────────────┬────────────┐
 *  │ crc u32 │ content u32 │ compressed u32 │ LZ4 block of compressed bytes │ zeros to 8 │
 *  └─────────┴─────────────┴────────────────┴───────────────────────────────┴────────────┘
 *   crc:     as above, over the stored bytes
 *   content: length of the uncompressed block drawn above, without the zeros, with bit 31 set
 *   LZ4 block: the uncompressed block without its crc and the zeros
 *
 *  index: finds the block by its first key
 *  ┌───────────┬──────────────┬──────────────┬──────────────────┬─────────────────┬──────┬─────────────┐
 *  │ count u32 │ shared u32   │ n × prefix   │ (n+1) × block/8  │ (n+1) × key u32 │ keys │ zeros to 64 │
 *  │           │              │     u64      │       u32        │                 │      │             │
 *  └───────────┴──────────────┴──────────────┴──────────────────┴─────────────────┴──────┴─────────────┘
 *   shared: length of the prefix that all keys of the table share
 *   prefix: the eight bytes after the shared prefix as a big-endian number, padded with zeros
 *   block:  offset of block i in units of 8 bytes; the last one is the end of all blocks
 *   key:    offset of the first key of block i from the start of {@code keys}
 *
 *  filter: a blocked Bloom filter, lines of 64 bytes; none if its length is 0
 *
 *  properties
 *  ┌────────────┬────────────┬─────────────┬────────────────┬───────────────┬───────────────┬─────┬─────┐
 *  │ number u64 │ source u64 │ entries u64 │ tombstones u64 │ min bytes u32 │ max bytes u32 │ min │ max │
 *  └────────────┴────────────┴─────────────┴────────────────┴───────────────┴───────────────┴─────┴─────┘
 *   number: the number in the file's name;  source: the WAL from which the table was flushed, or 0
 *
 *  footer, 80 bytes
 *  ┌───────────────┬───────────────┬───────────────┬───────────────┬───────────────┬───────────────┐
 *  │ index off u64 │ index len u64 │ filter off u64│ filter len u64│ props off u64 │ props len u64 │
 *  ├───────────────┴┬──────────────┴─┬─────────────┴──┬─────────────┬┴───────────────┴──┬────────────┤
 *  │ index crc u32  │ filter crc u32 │ props crc u32  │ version u32 │ zero u32, crc u32 │ magic u64  │
 *  └────────────────┴────────────────┴────────────────┴─────────────┴───────────────────┴────────────┘
 *   crc: CRC32C of the footer's first 68 bytes;  version: 2, or 3 if a block is compressed
 * </pre>
 */
package lsmlab.storage.table;
