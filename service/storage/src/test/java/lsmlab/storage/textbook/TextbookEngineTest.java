package lsmlab.storage.textbook;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.FlushBacklog;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.ReadOnlyException;
import lsmlab.storage.file.SimulatedDirectory;
import lsmlab.storage.file.SimulatedDirectory.Operation;
import org.junit.jupiter.api.Test;

/** The engine's files, and what becomes of them. The contract of all engines is tested elsewhere. */
class TextbookEngineTest {

  private static final Entry PAIR = new Entry(segment("a"), segment("old"));

  private final SimulatedDirectory directory = new SimulatedDirectory();

  private TextbookEngine open(int bloomBitsPerKey) throws IOException {
    LsmOptions options =
        LsmOptions.builder(Path.of("store")).bloomBitsPerKey(bloomBitsPerKey).build();
    return TextbookEngine.open(options, FlushBacklog.BLOCK, directory);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(US_ASCII);
  }

  private static MemorySegment segment(String text) {
    return MemorySegment.ofArray(bytes(text));
  }

  @Test
  void aCleanStopKeepsAllAndAKillOnlyTables() throws IOException {
    try (TextbookEngine engine = open(0)) {
      engine.put(bytes("a"), bytes("1"));
    }
    assertEquals(List.of("000001-000001.sst"), directory.names(".sst"));
    TextbookEngine killed = open(0);
    killed.put(bytes("b"), bytes("2"));
    SimulatedDirectory left = directory.afterKill();
    killed.close();
    LsmOptions options = LsmOptions.of(Path.of("store"));
    try (TextbookEngine engine = TextbookEngine.open(options, FlushBacklog.BLOCK, left)) {
      assertEquals("1", new String(engine.get(bytes("a")), US_ASCII));
      assertNull(engine.get(bytes("b")));
    }
  }

  /** After a kill during a compaction, the tables that it has merged may still be there. */
  @Test
  void aMergedTableReplacesItsInputsAndAnUnfinishedFileIsRemoved() throws IOException {
    TableFile.write(directory, 1, List.of(PAIR), 0);
    TableFile.write(directory, 2, List.of(new Entry(PAIR.key(), null)), 0);
    TableFile.write(directory, new MappedTable.Name(1, 2), List.of(), 0, false);
    TableFile.write(directory, 3, List.of(new Entry(segment("b"), segment("new"))), 0);
    directory.create("000004-000004.sst.part").close();
    try (TextbookEngine engine = open(0)) {
      assertNull(engine.get(bytes("a")));
      assertEquals("new", new String(engine.get(bytes("b")), US_ASCII));
      assertEquals(List.of(), directory.names(".part"));
      assertEquals(List.of("000001-000002.sst", "000003-000003.sst"), directory.names(".sst"));

      engine.compact();
      assertEquals(List.of("000001-000003.sst"), directory.names(".sst"));
      assertEquals("new", new String(engine.get(bytes("b")), US_ASCII));
    }
  }

  @Test
  void bloomFiltersAreASwitch() throws IOException {
    TableFile.write(directory, 1, List.of(PAIR), 10);
    TableFile.write(directory, 2, List.of(new Entry(segment("b"), segment("1"))), 10);
    try (TextbookEngine engine = open(0)) {
      assertEquals("old", new String(engine.get(bytes("a")), US_ASCII));
      assertEquals(0, engine.stats().bloomNegatives());
    }
    try (TextbookEngine engine = open(10)) {
      assertEquals("old", new String(engine.get(bytes("a")), US_ASCII));
      assertEquals(1, engine.stats().bloomNegatives());
    }
  }

  @Test
  void aFileThatIsNoWholeTableIsRefusedByName() throws IOException {
    TableFile.write(directory, 1, List.of(PAIR), 0);
    byte[] whole = directory.content("000001-000001.sst");
    byte[] other = whole.clone();
    other[7]++;
    byte[] cut = Arrays.copyOf(whole, whole.length - 1);
    for (byte[] content : new byte[][] {other, cut, new byte[0]}) {
      directory.replace("000001-000001.sst", content);
      CorruptionException e = assertThrows(CorruptionException.class, () -> open(0));
      assertTrue(e.getMessage().contains("000001-000001.sst"), e.getMessage());
      assertTrue(e.getMessage().contains("load the dataset again"), e.getMessage());
    }
  }

  @Test
  void aFailedFlushEndsWritesAndNotReads() throws IOException {
    TextbookEngine engine = open(0);
    engine.put(bytes("a"), bytes("1"));
    directory.setFault(
        (operation, name) -> {
          if (operation == Operation.WRITE) {
            throw new IOException("no space");
          }
        });
    assertThrows(ReadOnlyException.class, engine::flush);
    ReadOnlyException e =
        assertThrows(ReadOnlyException.class, () -> engine.put(bytes("b"), bytes("2")));
    assertTrue(e.getMessage().contains("no space"), e.getMessage());
    assertThrows(ReadOnlyException.class, engine::checkWritable);
    assertEquals("1", new String(engine.get(bytes("a")), US_ASCII));
    engine.quiesce();
    assertThrows(ReadOnlyException.class, engine::close);
    assertEquals(List.of(), directory.names(".sst"));
  }
}
