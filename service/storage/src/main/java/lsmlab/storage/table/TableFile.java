package lsmlab.storage.table;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.file.StoreDirectory;

/** The file of table {@code number}, and the errors that report its damage. */
record TableFile(StoreDirectory directory, long number) {

  private String name() {
    return TableFormat.fileName(number);
  }

  MemorySegment map(Arena arena) throws IOException {
    return directory.map(name(), arena);
  }

  void delete() throws IOException {
    directory.delete(name());
  }

  /** Returns the error for wrong content at an offset. */
  CorruptionException corrupt(long offset, String what) {
    return new CorruptionException(
        describe()
            + " at offset "
            + offset
            + ": "
            + what
            + ". The file was damaged after it was written; restore the store from a copy");
  }

  /** Returns the error for a file that has an unreadable page. */
  CorruptionException unreadable(Throwable cause) {
    return new CorruptionException(
        describe() + ": the file cannot be read (it was truncated, or the device failed)", cause);
  }

  String describe() {
    return directory.describe(name());
  }
}
