package lsmlab.storage.file;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OsStoreDirectoryTest {

  @TempDir private Path path;

  @Test
  void anInterruptFailsNoFileOperation() throws Exception {
    AtomicReference<Throwable> failure = new AtomicReference<>();
    AtomicBoolean done = new AtomicBoolean();
    Thread writer =
        new Thread(
            () -> {
              try (OsStoreDirectory directory = new OsStoreDirectory(path);
                  WritableFile file = directory.create("f")) {
                for (int i = 0; i < 1_000; i++) {
                  file.write(ByteBuffer.wrap(new byte[107]));
                  file.truncate(file.length() - 7);
                  file.sync();
                  if (i % 20 == 0) {
                    directory.sync();
                  }
                }
                assertEquals(100_000, file.length());
              } catch (Throwable e) {
                failure.set(e);
              } finally {
                done.set(true);
              }
            });
    writer.start();
    while (!done.get()) {
      writer.interrupt();
      Thread.onSpinWait();
    }
    writer.join();
    assertNull(failure.get());
    assertEquals(100_000, Files.size(path.resolve("f")));
  }

  @Test
  void aReaderNeedsNoWritePermissionAndExcludesWriters() throws IOException {
    try (OsStoreDirectory reader = new OsStoreDirectory(path)) {
      reader.lockForReading();
      assertEquals(List.of(), reader.list(), "nothing was created");
    }
    try (OsStoreDirectory writer = new OsStoreDirectory(path);
        OsStoreDirectory reader = new OsStoreDirectory(path)) {
      writer.lock();
      IOException e = assertThrows(IOException.class, reader::lockForReading);
      assertTrue(e.getMessage().contains("the store is open elsewhere"), e.getMessage());
      assertTrue(e.getMessage().contains(path.toString()), e.getMessage());
    }
    try (OsStoreDirectory reader = new OsStoreDirectory(path);
        OsStoreDirectory writer = new OsStoreDirectory(path)) {
      reader.lockForReading();
      assertThrows(IOException.class, writer::lock);
    }
  }

  @Test
  void aFileInPlaceOfADirectoryIsReportedByName() throws IOException {
    Path file = Files.createFile(path.resolve("file"));
    IOException e = assertThrows(IOException.class, () -> new OsStoreDirectory(file));
    assertTrue(e.getMessage().contains(file + " is a file"), e.toString());
  }

  @Test
  void laterWritesOverwriteThePadding() throws IOException {
    try (OsStoreDirectory files = new OsStoreDirectory(path);
        WritableFile file = files.create("f")) {
      file.write(ByteBuffer.wrap(new byte[] {1, 2, 3}));
      file.pad(100_000);
      assertEquals(3, file.length());
      assertEquals(100_003, Files.size(path.resolve("f")));
      file.write(ByteBuffer.wrap(new byte[] {4}));
      file.sync();
      byte[] expected = Arrays.copyOf(new byte[] {1, 2, 3, 4}, 100_003);
      assertArrayEquals(expected, Files.readAllBytes(path.resolve("f")));
      file.truncate(4);
      assertEquals(4, Files.size(path.resolve("f")));
    }
  }

  /** The kernel ends all locks of a process on a file when the process closes any descriptor of it. */
  @Test
  void aRefusedLockOfTheSameProcessDoesNotEndTheLock() throws IOException {
    try (OsStoreDirectory holder = new OsStoreDirectory(path);
        OsStoreDirectory writer = new OsStoreDirectory(path);
        OsStoreDirectory reader = new OsStoreDirectory(path)) {
      holder.lock();
      assumeTrue(isLocked(), "this kernel does not show its locks");
      assertThrows(IOException.class, writer::lock);
      assertThrows(IOException.class, reader::lockForReading);
      assertTrue(isLocked(), "another process can take the lock now");
      holder.close();
      writer.lock();
      assertTrue(isLocked());
    }
    assertFalse(isLocked());
  }

  private boolean isLocked() throws IOException {
    Path locks = Path.of("/proc/locks");
    if (!Files.isReadable(locks)) {
      return false;
    }
    String file = ":" + Files.getAttribute(path.resolve("LOCK"), "unix:ino") + " ";
    String process = " " + ProcessHandle.current().pid() + " ";
    return Files.readAllLines(locks).stream()
        .anyMatch(lock -> lock.contains(file) && lock.contains(process));
  }
}
