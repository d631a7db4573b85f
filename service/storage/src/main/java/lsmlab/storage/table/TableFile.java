package lsmlab.storage.table;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.file.StoreDirectory;

/** The file of table {@code number}, and what is said of it when it is damaged. */
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

  /** The file's content is wrong at this place. */
  CorruptionException corrupt(long offset, String what) {
    return new CorruptionException(
        describe()
            + " at offset "
            + offset
            + ": "
            + what
            + ". The file was damaged after it was written; restore the store from a copy");
  }

  /** The file has no content where it should have some. */
  CorruptionException unreadable(Throwable cause) {
    return new CorruptionException(
        describe() + ": the file cannot be read (cut short, or a device error)", cause);
  }

  String describe() {
    return directory.describe(name());
  }
}
