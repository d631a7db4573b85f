package lsmlab.storage.table;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import lsmlab.storage.file.OsStoreDirectory;
import lsmlab.storage.file.StoreDirectory;
import lsmlab.storage.file.WritableFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TableWriterTest {

  private static final int PAIRS = 12_000;
  private static final int VALUE_BYTES = 500;

  @TempDir private Path path;

  /**
   * Small pieces let writers use the CPU in between. Large pieces let Linux map the table in large
   * pages.
   */
  @Test
  void aFlushWritesSmallPiecesAndACompactionLargeOnes() throws IOException {
    assertPieces(write(1, 9), 128 << 10);
    assertPieces(write(2, 0), 2 << 20);
  }

  private static void assertPieces(List<Integer> writes, int bytes) {
    int total = writes.stream().mapToInt(Integer::intValue).sum();
    assertEquals((total + bytes - 1) / bytes, writes.size(), writes.toString());
    for (int bytesWritten : writes.subList(0, writes.size() - 1)) {
      assertEquals(bytes, bytesWritten);
    }
  }

  /** Writes a table of about 6 MB. Returns the bytes of each write call. */
  private List<Integer> write(long number, long sourceLog) throws IOException {
    List<Integer> writes = new ArrayList<>();
    try (OsStoreDirectory directory = new OsStoreDirectory(path);
        TableWriter writer =
            new TableWriter(
                recording(directory, writes), number, sourceLog, new TableLayout(4096, 10))) {
      MemorySegment value = MemorySegment.ofArray(new byte[VALUE_BYTES]);
      ByteBuffer key = ByteBuffer.allocate(Integer.BYTES);
      for (int i = 0; i < PAIRS; i++) {
        key.putInt(0, i);
        writer.add(MemorySegment.ofArray(key.array()), 0, Integer.BYTES, value, 0, VALUE_BYTES);
      }
      writer.finish();
    }
    return writes;
  }

  private static StoreDirectory recording(StoreDirectory directory, List<Integer> writes) {
    return proxy(
        StoreDirectory.class,
        (method, arguments) -> {
          Object result = method.invoke(directory, arguments);
          return method.getName().equals("create")
              ? recording((WritableFile) result, writes)
              : result;
        });
  }

  private static WritableFile recording(WritableFile file, List<Integer> writes) {
    return proxy(
        WritableFile.class,
        (method, arguments) -> {
          if (method.getName().equals("write")) {
            writes.add(((ByteBuffer) arguments[0]).remaining());
          }
          return method.invoke(file, arguments);
        });
  }

  private interface Call {
    Object make(Method method, Object[] arguments) throws ReflectiveOperationException;
  }

  private static <T> T proxy(Class<T> type, Call call) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (self, method, arguments) -> call.make(method, arguments)));
  }
}
