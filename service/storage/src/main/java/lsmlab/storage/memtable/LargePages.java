package lsmlab.storage.memtable;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import lsmlab.storage.os.Libc;

/**
 * Allocates native memory and asks Linux to use pages of 2 MiB for it (mmap(2) and madvise(2)). A
 * large page takes one page fault instead of 512 and causes fewer TLB misses. Memory that is never
 * written takes no RAM. On other systems, or if the kernel refuses, the pages have the usual size.
 * Thread-safe.
 */
final class LargePages {

  /** Size of a large page on x86, and on ARM with base pages of 4 KiB. */
  private static final long PAGE_BYTES = 2L << 20;

  private static final int PROT_READ_WRITE = 3;
  private static final int MAP_PRIVATE_ANONYMOUS = 0x22;
  private static final int MADV_HUGEPAGE = 14;
  private static final long MAP_FAILED = -1;

  private static final MethodHandle MMAP =
      Libc.find(
          "mmap",
          FunctionDescriptor.of(
              ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));
  private static final MethodHandle MUNMAP =
      Libc.find("munmap", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG));
  private static final MethodHandle MADVISE =
      Libc.find("madvise", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT));

  private LargePages() {}

  /**
   * Allocates zeroed memory that is freed with the arena.
   *
   * @param bytes size of the memory
   * @throws OutOfMemoryError if the system has not enough memory
   */
  static MemorySegment allocate(long bytes, Arena arena) {
    if (MMAP == null || MUNMAP == null || MADVISE == null) {
      return arena.allocate(bytes, Long.BYTES);
    }
    // One large page more, so that the memory can start at a multiple of its size.
    long mapped = bytes + PAGE_BYTES;
    long start =
        Libc.call(
            () ->
                ((MemorySegment)
                        MMAP.invokeExact(
                            MemorySegment.NULL,
                            mapped,
                            PROT_READ_WRITE,
                            MAP_PRIVATE_ANONYMOUS,
                            -1,
                            0L))
                    .address());
    if (start == MAP_FAILED) {
      return arena.allocate(bytes, Long.BYTES);
    }
    MemorySegment memory =
        MemorySegment.ofAddress(start)
            .reinterpret(mapped, arena, whole -> unmap(whole, mapped))
            .asSlice(-start & (PAGE_BYTES - 1), bytes);
    // A kernel without large pages refuses, and the memory stays as it is.
    Libc.call(() -> (int) MADVISE.invokeExact(memory, bytes, MADV_HUGEPAGE));
    return memory;
  }

  private static void unmap(MemorySegment whole, long bytes) {
    Libc.call(() -> (int) MUNMAP.invokeExact(whole, bytes));
  }
}
