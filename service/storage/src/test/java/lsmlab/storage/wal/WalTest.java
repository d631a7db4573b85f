package lsmlab.storage.wal;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.Durability;
import lsmlab.storage.file.SimulatedDirectory;
import org.junit.jupiter.api.Test;

/** Tests writing, reading back and preallocating a log. */
class WalTest extends WalFixture {

  @Test
  void continuesAfterTheNextLogCouldNotBeCreated() throws IOException {
    try (WalWriter writer = writer(Durability.POWER)) {
      put(writer, "a", "1");
      writer.commit();
      directory.setFault(
          (operation, name) -> {
            if (name.equals("000006.wal") && operation == SimulatedDirectory.Operation.WRITE) {
              throw new IOException("no space");
            }
          });
      long length = writer.length();
      assertThrows(
          IOException.class,
          () -> new WalWriter(directory, 6, Durability.POWER, buffer, 5, length, ROOM));
      put(writer, "b", "2");
      writer.commit();
      assertEquals(List.of("a=1", "b=2"), read(writer.length()));
    }
  }

  @Test
  void readsBackCommittedRecords() throws IOException {
    try (WalWriter writer = writer(Durability.PROCESS)) {
      put(writer, "a", "1");
      writer.delete("b".getBytes(UTF_8), 0, 1);
      put(writer, "empty", "");
      writer.commit();
      put(writer, "large", "x".repeat(200_000));
      writer.commit();
    }
    assertEquals(List.of("a=1", "b-", "empty=", "large=" + "x".repeat(200_000)), read(-1));
    WalReader.Result result = WalReader.begin(directory, 5);
    assertEquals(4, result.previous());
    assertEquals(99, result.previousLength());
    assertEquals(Durability.PROCESS, result.durability());
  }

  @Test
  void rollbackDiscardsUncommittedRecords() throws IOException {
    try (WalWriter writer = writer(Durability.PROCESS)) {
      put(writer, "a", "1");
      writer.commit();
      long length = writer.length();
      directory.setFault(
          (operation, name) -> {
            if (operation == SimulatedDirectory.Operation.WRITE) {
              throw new IOException("full");
            }
          });
      put(writer, "b", "2");
      assertThrows(IOException.class, writer::commit);
      writer.rollback();
      directory.setFault((operation, name) -> {});
      assertEquals(length, writer.length());
      put(writer, "c", "3");
      writer.commit();
    }
    assertEquals(List.of("a=1", "c=3"), read(-1));
  }

  @Test
  void aLogOfAnOlderFormatIsReportedAsSuch() throws IOException {
    threeCommits(Durability.PROCESS);
    ByteBuffer old = ByteBuffer.allocate(200).order(ByteOrder.LITTLE_ENDIAN);
    old.putInt(1234).putInt(21).putLong(5).put((byte) 3).putInt(1);
    directory.replace("000005.wal", old.array());
    CorruptionException e = assertThrows(CorruptionException.class, () -> read(-1));
    assertTrue(e.getMessage().contains("WAL format version 1, this engine reads 2"), e.toString());
  }

  @Test
  void onePreallocationServesManyCommits() throws IOException {
    List<SimulatedDirectory.Operation> seen = new ArrayList<>();
    try (WalWriter writer = writer(Durability.POWER)) {
      directory.setFault((operation, name) -> seen.add(operation));
      while (!seen.contains(SimulatedDirectory.Operation.PAD)) {
        put(writer, "key", "value".repeat(20));
        writer.commit();
      }
      seen.clear();
      List<String> expected = read(-1);
      long size = directory.content("000005.wal").length;
      assertTrue(size >= writer.length() + ROOM, size + " bytes");
      assertEquals(0, size % 4096);
      while (!seen.contains(SimulatedDirectory.Operation.PAD)) {
        assertEquals(size, directory.content("000005.wal").length);
        put(writer, "key", "value".repeat(20));
        writer.commit();
        expected.add(expected.getFirst());
      }
      assertTrue(writer.length() > size, "made before it was full");
      assertEquals(expected, read(-1));
      assertEquals(expected, read(writer.length()));
      writer.finish();
      assertEquals(writer.length(), directory.content("000005.wal").length);
      assertEquals(expected, read(-1));
    }
  }

  @Test
  void withoutSyncsNothingIsPreallocated() throws IOException {
    try (WalWriter writer = writer(Durability.PROCESS)) {
      put(writer, "a", "1");
      writer.commit();
      assertEquals(writer.length(), directory.content("000005.wal").length);
    }
  }

  @Test
  void continuesWithoutPreallocationIfTheDiskIsFull() throws IOException {
    directory.setFault(
        (operation, name) -> {
          if (operation == SimulatedDirectory.Operation.PAD) {
            throw new IOException("No space left on device");
          }
        });
    List<String> expected = new ArrayList<>();
    try (WalWriter writer = writer(Durability.POWER)) {
      for (int i = 0; i < 100; i++) {
        put(writer, "key" + i, "value".repeat(20));
        writer.commit();
        expected.add("key" + i + "=" + "value".repeat(20));
      }
      assertEquals(expected, read(writer.length()));
    }
  }

  @Test
  void theFileIsPreallocatedAgainAfterARollback() throws IOException {
    try (WalWriter writer = writer(Durability.POWER)) {
      directory.setFault(
          (operation, name) -> {
            if (operation == SimulatedDirectory.Operation.WRITE) {
              throw new IOException("full");
            }
          });
      put(writer, "a", "1");
      assertThrows(IOException.class, writer::commit);
      writer.rollback();
      assertEquals(writer.length(), directory.content("000005.wal").length);
      directory.setFault((operation, name) -> {});
      put(writer, "b", "2");
      writer.commit();
      assertEquals(0, directory.content("000005.wal").length % 4096);
    }
    assertEquals(List.of("b=2"), read(-1));
  }

  @Test
  void fileNamesAreReadBack() {
    assertEquals("000042.wal", WalFormat.fileName(42));
    assertEquals(42, WalFormat.number("000042.wal"));
    assertEquals(-1, WalFormat.number("000042.sst"));
  }
}
