package lsmlab.storage.memtable;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ChunkPoolTest {

  private static final Path SMAPS = Path.of("/proc/self/smaps");

  @Test
  void chunksDoNotOverlapAndAreReused() {
    try (ChunkPool pool = new ChunkPool()) {
      List<MemorySegment> chunks = new ArrayList<>();
      // More than a slab has.
      for (int i = 0; i < 70; i++) {
        MemorySegment chunk = pool.take();
        assertEquals(ChunkPool.CHUNK_BYTES, chunk.byteSize());
        assertEquals(0, chunk.address() % Long.BYTES);
        chunk.fill((byte) i);
        chunks.add(chunk);
      }
      for (int i = 0; i < 70; i++) {
        assertEquals((byte) i, chunks.get(i).get(ValueLayout.JAVA_BYTE, 0));
        assertEquals((byte) i, chunks.get(i).get(ValueLayout.JAVA_BYTE, ChunkPool.CHUNK_BYTES - 1));
      }
      pool.give(chunks.get(3));
      assertEquals(chunks.get(3).address(), pool.take().address());
    }
  }

  @Test
  void closingThePoolFreesItsChunks() {
    ChunkPool pool = new ChunkPool();
    MemorySegment chunk = pool.take();
    pool.close();
    assertThrows(IllegalStateException.class, () -> chunk.get(ValueLayout.JAVA_BYTE, 0));
  }

  @Test
  void moreMemoryThanIsPossibleIsRefused() {
    try (Arena arena = Arena.ofShared()) {
      assertThrows(OutOfMemoryError.class, () -> LargePages.allocate(1L << 60, arena));
    }
  }

  @Test
  void theKernelIsAskedForLargePages() throws IOException {
    assumeTrue(Files.isReadable(SMAPS), "/proc/self/smaps is Linux's");
    assumeTrue(
        Files.isDirectory(Path.of("/sys/kernel/mm/transparent_hugepage")),
        "this kernel has no large pages");
    long address;
    try (Arena arena = Arena.ofShared()) {
      MemorySegment memory = LargePages.allocate(4L << 20, arena);
      address = memory.address();
      assertEquals(0, address % (2 << 20));
      assertEquals(4L << 20, memory.byteSize());
      assertEquals(0, memory.get(ValueLayout.JAVA_LONG, (4L << 20) - Long.BYTES));
      assertTrue(flagsOfMappingAt(address).contains("hg"), "MADV_HUGEPAGE was not heard");
    }
    assertFalse(flagsOfMappingAt(address).contains("hg"), "still mapped");
  }

  /**
   * Returns the kernel's flags of the mapping that starts at this address; empty if there is no
   * such mapping.
   */
  private static List<String> flagsOfMappingAt(long address) throws IOException {
    boolean here = false;
    for (String line : Files.readAllLines(SMAPS)) {
      if (line.matches("[0-9a-f]+-[0-9a-f]+ .*")) {
        here = line.startsWith(Long.toHexString(address) + "-");
      } else if (here && line.startsWith("VmFlags:")) {
        return List.of(line.split(" +"));
      }
    }
    return List.of();
  }
}
