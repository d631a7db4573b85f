package lsmlab.storage.wal;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.Durability;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Torn ends, which are cut, and damage, which is refused. */
class WalDamageTest extends WalFixture {

  @Test
  void aTornEndIsTruncated() throws IOException {
    long[] starts = threeCommits(Durability.PROCESS);
    byte[] content = directory.content("000005.wal");
    for (int length = (int) starts[2]; length < content.length; length++) {
      directory.replace("000005.wal", Arrays.copyOf(content, length));
      assertEquals(2, read(-1).size());
    }
  }

  @Test
  void damageBelowTheSyncedOffsetIsRefused() throws IOException {
    long[] starts = threeCommits(Durability.POWER);
    damage(starts[0] + 30, 1);
    CorruptionException e = assertThrows(CorruptionException.class, () -> read(-1));
    assertTrue(e.getMessage().contains("000005.wal at offset " + starts[0]), e.getMessage());
    assertTrue(e.getMessage().contains("was synced"), e.getMessage());
  }

  @Test
  void damageFollowedByWholeRecordsIsRefused() throws IOException {
    long[] starts = threeCommits(Durability.PROCESS);
    damage(starts[1] + 30, 1);
    CorruptionException e = assertThrows(CorruptionException.class, () -> read(-1));
    assertTrue(e.getMessage().contains("at offset " + starts[1]), e.getMessage());
    assertTrue(e.getMessage().contains("whole records follow it"), e.getMessage());
  }

  @Test
  void lostPagesEndTheLogThere() throws IOException {
    int before;
    try (WalWriter writer = writer(Durability.PROCESS)) {
      for (int i = 0; i < 100; i++) {
        put(writer, "key" + i, "value".repeat(40));
      }
      writer.commit();
      before = 100;
    }
    byte[] content = directory.content("000005.wal");
    Arrays.fill(content, 4096, 8192, (byte) 0);
    directory.replace("000005.wal", content);
    List<String> found = read(-1);
    assertFalse(found.isEmpty());
    assertTrue(found.size() < before / 2, found.size() + " writes");
  }

  @ParameterizedTest
  @EnumSource(value = Durability.class, names = "NONE", mode = EnumSource.Mode.EXCLUDE)
  void damageToTheLastRecordIsNotTakenForATornEnd(Durability durability) throws IOException {
    long start = threeCommits(durability)[2];
    byte[] sound = directory.content("000005.wal");
    for (int at = 0; at < 100; at++) {
      directory.replace("000005.wal", sound);
      damage(start + at, 1 << at % 8);
      CorruptionException e = assertThrows(CorruptionException.class, () -> read(-1));
      assertTrue(e.getMessage().contains("000005.wal at offset " + start), e.getMessage());
    }
  }

  @Test
  void aZeroedSectorAtTheEndCountsAsLost() throws IOException {
    long start = threeCommits(Durability.PROCESS)[2];
    byte[] content = directory.content("000005.wal");
    Arrays.fill(content, (int) start, content.length, (byte) 0);
    directory.replace("000005.wal", content);
    assertEquals(2, read(-1).size());
  }

  /** A value may be a copy of the log itself, and its write may be cut short anywhere. */
  @ParameterizedTest
  @EnumSource(value = Durability.class, names = "NONE", mode = EnumSource.Mode.EXCLUDE)
  void bytesOfAValueDoNotPassForRecords(Durability durability) throws IOException {
    int before;
    try (WalWriter writer = writer(durability)) {
      put(writer, "first", "acknowledged");
      writer.commit();
      before = (int) writer.length();
      byte[] value = new byte[20_000];
      new Random(1).nextBytes(value);
      byte[] log = Arrays.copyOf(directory.content("000005.wal"), before);
      for (int at = 0; at + log.length < value.length; at += 3 * log.length) {
        System.arraycopy(log, 0, value, at, log.length);
      }
      writer.put("backup".getBytes(UTF_8), 0, 6, value, 0, value.length);
      writer.commit();
    }
    byte[] content = directory.content("000005.wal");
    for (int length = before; length < before + 20_000; length += 97) {
      directory.replace("000005.wal", Arrays.copyOf(content, length));
      assertEquals(List.of("first=acknowledged"), read(-1), "cut to " + length);
    }
  }

  /** Loses sectors of 512 bytes, as a device does that writes them independently. */
  @Test
  void anyLostSectorOfTheLastGroupEndsTheLogThere() throws IOException {
    byte[] before;
    int note;
    try (WalWriter writer = writer(Durability.POWER)) {
      put(writer, "a", "1");
      writer.commit();
      before = directory.content("000005.wal");
      for (int i = 0; i < 20; i++) {
        put(writer, "b" + i, "2".repeat(190));
      }
      writer.commit();
      note = (int) writer.length() - WalFormat.SYNCED_BYTES;
    }
    byte[] after = directory.content("000005.wal");
    Random random = new Random(1);
    for (int round = 0; round < 500; round++) {
      byte[] torn = Arrays.copyOf(after, before.length);
      Arrays.fill(torn, note, torn.length, (byte) 0); // no note: the sync did not return
      for (int at = 0; at + 512 <= before.length; at += 512) {
        if (random.nextInt(3) == 0) {
          System.arraycopy(before, at, torn, at, 512);
        }
      }
      directory.replace("000005.wal", torn);
      assertEquals("a=1", read(-1).getFirst());
    }
  }

  /**
   * Every fourth byte of the value looks like the start of a record with a long payload. Reading
   * each of these payloads would take a minute.
   */
  @Test
  void theEndOfALogIsFoundInLinearTime() throws IOException {
    byte[] value = new byte[16 << 20];
    Arrays.fill(value, (byte) 0x10);
    for (int i = 3; i < value.length; i += 4) {
      value[i] = 0; // little-endian: some 1,000,000 bytes
    }
    long end;
    try (WalWriter writer = writer(Durability.PROCESS)) {
      put(writer, "a", "1");
      writer.commit();
      end = writer.length();
      writer.put(new byte[] {'b'}, 0, 1, value, 0, value.length);
      writer.commit();
    }
    byte[] content = directory.content("000005.wal");
    directory.replace("000005.wal", Arrays.copyOf(content, content.length - 1)); // kill -9
    WalReader.Result result =
        assertTimeoutPreemptively(Duration.ofSeconds(20), () -> WalReader.check(directory, 5, -1));
    assertEquals(end, result.length());
  }

  @Test
  void aRecordThatDoesNotReachTheDeviceLeavesPreallocatedZeros() throws IOException {
    byte[] before;
    try (WalWriter writer = writer(Durability.POWER)) {
      put(writer, "a", "1");
      writer.commit();
      before = directory.content("000005.wal");
      put(writer, "b", "2".repeat(9_000));
      writer.commit();
    }
    byte[] after = directory.content("000005.wal");
    for (int lost = 0; lost < before.length; lost += 4096) {
      byte[] torn = Arrays.copyOf(after, before.length);
      System.arraycopy(before, lost, torn, lost, 4096);
      directory.replace("000005.wal", torn);
      assertEquals(List.of("a=1"), read(-1), "without the block at " + lost);
    }
  }
}
