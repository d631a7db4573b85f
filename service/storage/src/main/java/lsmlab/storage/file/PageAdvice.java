package lsmlab.storage.file;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import lsmlab.storage.os.Libc;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells the kernel how a mapped file will be read (posix_madvise(3)). This affects only speed. Does
 * nothing on other systems than Linux, or if the memory is not a mapped file. Thread-safe.
 */
public final class PageAdvice {

  private static final Logger LOG = LoggerFactory.getLogger(PageAdvice.class);

  private static final int RANDOM = 1;
  private static final int WILL_NEED = 3;

  /**
   * Size of the smallest page. On a system with larger pages the call covers a few more bytes, or
   * fails.
   */
  private static final long PAGE_BYTES = 4096;

  private static final MethodHandle MADVISE =
      Libc.find("posix_madvise", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT));

  private PageAdvice() {}

  /**
   * Tells the kernel to expect random access. To read a missing page, the kernel then does not read
   * the pages around it.
   */
  public static void random(MemorySegment mapped) {
    int error = advise(mapped, 0, mapped.byteSize(), RANDOM);
    if (error != 0) {
      LOG.info(
          "posix_madvise failed with error {}: the kernel reads more pages than needed", error);
    }
  }

  /**
   * Tells the kernel that these bytes will be read soon. The kernel starts to read the missing ones
   * while the caller continues.
   */
  public static void willNeed(MemorySegment mapped, long offset, long length) {
    advise(mapped, offset, length, WILL_NEED);
  }

  private static int advise(MemorySegment mapped, long offset, long length, int advice) {
    if (MADVISE == null || !mapped.isMapped() || length == 0) {
      return 0;
    }
    // The call requires the start of a page; a mapping starts at one.
    long start = offset & -PAGE_BYTES;
    long end = Math.min(mapped.byteSize(), offset + length);
    MemorySegment slice = mapped.asSlice(start, end - start);
    return (int) Libc.call(() -> (int) MADVISE.invokeExact(slice, end - start, advice));
  }
}
