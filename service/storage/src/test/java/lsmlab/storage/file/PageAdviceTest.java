package lsmlab.storage.file;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PageAdviceTest {

  @TempDir Path directory;

  private byte[] content;

  private MemorySegment map(int bytes, Arena arena) throws IOException {
    content = new byte[bytes];
    new SplittableRandom(bytes).nextBytes(content);
    Path file = Files.write(directory.resolve("mapped"), content);
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      return channel.map(FileChannel.MapMode.READ_ONLY, 0, bytes, arena);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 4095, 4096, 4097, 300_000})
  void adviceAnywhereWithinAndAtTheEndChangesNoByte(int bytes) throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment mapped = map(bytes, arena);
      PageAdvice.random(mapped);
      for (long offset : new long[] {0, 1, bytes / 2, bytes - 1, bytes}) {
        for (long length : new long[] {0, 1, 4096, bytes}) {
          PageAdvice.willNeed(mapped, offset, length);
        }
      }
      assertArrayEquals(content, mapped.toArray(ValueLayout.JAVA_BYTE));
    }
  }

  @Test
  void memoryThatIsNotAMappedFileIsUnchanged() throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      PageAdvice.random(arena.allocate(10_000));
      PageAdvice.willNeed(arena.allocate(10_000), 100, 100);
      PageAdvice.random(map(0, arena));
    }
    PageAdvice.random(MemorySegment.ofArray(new byte[10]));
    PageAdvice.willNeed(MemorySegment.ofArray(new byte[10]), 3, 4);
  }

  @Test
  void theKernelAppliesTheAdvice() throws IOException {
    assumeTrue(MappedFiles.areKnown(), "/proc/self/smaps is Linux's");
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment mapped = map(300_000, arena);
      assertEquals(List.of(false), List.copyOf(MappedFiles.readAtRandom(directory).values()));
      PageAdvice.willNeed(mapped, 0, 300_000);
      assertEquals(List.of(false), List.copyOf(MappedFiles.readAtRandom(directory).values()));
      PageAdvice.random(mapped);
      assertEquals(List.of(true), List.copyOf(MappedFiles.readAtRandom(directory).values()));
    }
  }
}
