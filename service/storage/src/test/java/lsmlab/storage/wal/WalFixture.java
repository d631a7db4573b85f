package lsmlab.storage.wal;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import lsmlab.storage.Durability;
import lsmlab.storage.file.SimulatedDirectory;

/** A log in a simulated directory. */
abstract class WalFixture {

  /** Number of bytes by which the log is preallocated. */
  static final int ROOM = 5_000;

  final SimulatedDirectory directory = new SimulatedDirectory();
  final ByteBuffer buffer = ByteBuffer.allocateDirect(70_000);

  WalWriter writer(Durability durability) throws IOException {
    return new WalWriter(directory, 5, durability, buffer, 4, 99, ROOM);
  }

  static void put(WalWriter writer, String key, String value) throws IOException {
    writer.put(key.getBytes(UTF_8), 0, key.length(), value.getBytes(UTF_8), 0, value.length());
  }

  /** Replays the log. Returns {@code key=value} for each pair and {@code key-} for each deletion. */
  List<String> read(long expectedLength) throws IOException {
    List<String> writes = new ArrayList<>();
    WalReader.replay(
        directory,
        5,
        expectedLength,
        (key, value) ->
            writes.add(
                new String(key, UTF_8) + (value == null ? "-" : "=" + new String(value, UTF_8))));
    return writes;
  }

  /** Writes a log with three commits. Returns the offset of each. */
  long[] threeCommits(Durability durability) throws IOException {
    long[] starts = new long[3];
    try (WalWriter writer = writer(durability)) {
      for (int i = 0; i < 3; i++) {
        starts[i] = writer.length();
        put(writer, "key" + i, "value".repeat(20));
        writer.commit();
      }
    }
    return starts;
  }

  void damage(long offset, int mask) {
    byte[] content = directory.content("000005.wal");
    content[(int) offset] ^= (byte) mask;
    directory.replace("000005.wal", content);
  }
}
