package lsmlab.storage.manifest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.file.SimulatedDirectory;
import lsmlab.storage.file.SyncFailedException;
import org.junit.jupiter.api.Test;

class ManifestTest {

  private final SimulatedDirectory directory = new SimulatedDirectory();

  private static Edit add(long number) {
    return new Edit(
        number + 1, number, List.of(), List.of(new TableEntry(number, 0, number, 100 * number)));
  }

  private static List<Long> numbers(Manifest manifest) {
    return manifest.tables().stream().map(TableEntry::number).toList();
  }

  private Manifest empty(long rewriteBytes) throws IOException {
    return Manifest.create(directory, new Edit(1, 1, List.of(), List.of()), rewriteBytes);
  }

  private Manifest open(long rewriteBytes) throws IOException {
    Manifest manifest = Manifest.read(directory, rewriteBytes);
    manifest.beginAppending();
    return manifest;
  }

  @Test
  void readsBackAppendedRecords() throws IOException {
    try (Manifest manifest = empty(1 << 20)) {
      manifest.append(add(1));
      manifest.noteSynced();
      manifest.append(add(2));
      manifest.append(new Edit(9, 4, List.of(1L), List.of()));
    }
    try (Manifest manifest = open(1 << 20)) {
      assertEquals(List.of(2L), numbers(manifest));
      assertEquals(9, manifest.nextFile());
      assertEquals(4, manifest.firstLog());
      assertEquals(200, manifest.tables().iterator().next().bytes());
    }
  }

  @Test
  void isRewrittenWhenItHasGrown() throws IOException {
    try (Manifest manifest = empty(500)) {
      for (int i = 1; i <= 200; i++) {
        manifest.append(add(i));
        if (i > 3) {
          manifest.append(new Edit(i + 1, i, List.of(i - 3L), List.of()));
        }
      }
    }
    assertTrue(directory.content(Manifest.NAME).length < 1_000);
    assertFalse(directory.list().contains(Manifest.TEMPORARY_NAME));
    try (Manifest manifest = open(500)) {
      assertEquals(List.of(198L, 199L, 200L), numbers(manifest));
    }
  }

  @Test
  void aTornEndIsTruncatedUnlessItWasSynced() throws IOException {
    int before;
    int after;
    try (Manifest manifest = empty(1 << 20)) {
      manifest.append(add(1));
      manifest.noteSynced();
      before = directory.content(Manifest.NAME).length;
      manifest.append(add(2));
      after = directory.content(Manifest.NAME).length;
    }
    byte[] content = directory.content(Manifest.NAME);
    for (int length = before; length < after; length++) {
      directory.replace(Manifest.NAME, Arrays.copyOf(content, length));
      try (Manifest manifest = open(1 << 20)) {
        assertEquals(List.of(1L), numbers(manifest));
        manifest.append(add(3));
      }
      try (Manifest manifest = open(1 << 20)) {
        assertEquals(List.of(1L, 3L), numbers(manifest));
      }
    }
    byte[] damaged = content.clone();
    damaged[before - 20] ^= 1;
    directory.replace(Manifest.NAME, damaged);
    CorruptionException e = assertThrows(CorruptionException.class, () -> open(1 << 20));
    assertTrue(e.getMessage().contains("MANIFEST at offset"), e.getMessage());
  }

  /** A loss of power may take the record of a sync and spare a later edit that was not synced. */
  @Test
  void anEditAfterALostRecordIsTruncatedUnlessItWasSynced() throws IOException {
    int note;
    int end;
    byte[] unsynced;
    try (Manifest manifest = empty(1 << 20)) {
      manifest.append(add(1));
      note = directory.content(Manifest.NAME).length;
      manifest.noteSynced();
      end = directory.content(Manifest.NAME).length;
      manifest.append(add(2));
      unsynced = directory.content(Manifest.NAME);
      manifest.noteSynced();
    }
    byte[] synced = directory.content(Manifest.NAME);
    for (int lost = note + 1; lost <= end; lost++) {
      Arrays.fill(unsynced, note, lost, (byte) 0);
      directory.replace(Manifest.NAME, unsynced);
      try (Manifest manifest = open(1 << 20)) {
        assertEquals(List.of(1L), numbers(manifest));
      }
      assertEquals(note, directory.content(Manifest.NAME).length);
      Arrays.fill(synced, note, lost, (byte) 0);
      directory.replace(Manifest.NAME, synced);
      assertThrows(CorruptionException.class, () -> open(1 << 20));
    }
  }

  @Test
  void aFailedWriteChangesNothing() throws IOException {
    try (Manifest manifest = empty(1 << 20)) {
      manifest.append(add(1));
      directory.setFault(
          (operation, name) -> {
            if (operation == SimulatedDirectory.Operation.WRITE) {
              throw new IOException("full");
            }
          });
      assertThrows(IOException.class, () -> manifest.append(add(2)));
      directory.setFault((operation, name) -> {});
      assertEquals(List.of(1L), numbers(manifest));
      manifest.append(add(3));
    }
    try (Manifest manifest = open(1 << 20)) {
      assertEquals(List.of(1L, 3L), numbers(manifest));
    }
  }

  /** The change may be in the file already. A second record of it would make the file useless. */
  @Test
  void afterAFailedSyncNoChangeIsMade() throws IOException {
    try (Manifest manifest = empty(1 << 20)) {
      directory.setFault(
          (operation, name) -> {
            if (operation == SimulatedDirectory.Operation.SYNC_FILE) {
              throw new IOException("device error");
            }
          });
      assertThrows(SyncFailedException.class, () -> manifest.append(add(1)));
      directory.setFault((operation, name) -> {});
      assertThrows(SyncFailedException.class, () -> manifest.append(add(1)));
    }
    try (Manifest manifest = open(1 << 20)) {
      assertEquals(List.of(1L), numbers(manifest));
    }
  }
}
