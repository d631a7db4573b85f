package lsmlab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import lsmlab.storage.Durability;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.ReadOnlyException;
import lsmlab.storage.file.SimulatedDirectory;
import lsmlab.storage.manifest.LogEntry;
import lsmlab.storage.memtable.ChunkPool;
import lsmlab.storage.memtable.Memtable;
import org.junit.jupiter.api.Test;

class CommitPipelineTest {

  /** An error such as a lack of memory, where no write expects one. */
  @Test
  void noWriterSleepsForEverAfterAnErrorOfTheLeader() throws IOException {
    SimulatedDirectory directory = new SimulatedDirectory();
    LsmOptions options = LsmOptions.of(Path.of("unused"));
    WalLifecycle logs = new WalLifecycle(directory, options);
    Health health = new Health();
    try (ChunkPool pool = new ChunkPool()) {
      Memtable memtable = new Memtable(pool, 1);
      ActiveWal wal =
          new ActiveWal(logs, null, health, logs.begin(1, LogEntry.NONE), LogEntry.NONE);
      CommitPipeline pipeline =
          new CommitPipeline(new Failing(memtable), wal, health, Durability.PROCESS, 0);
      byte[] large = new byte[1 << 20];
      Write first = new Write(new byte[] {1}, 0, 1, large, 0, large.length);
      Write second = new Write(new byte[] {2}, 0, 1, large, 0, large.length);
      assertThrows(AssertionError.class, () -> pipeline.submit(new Write[] {first, second}, 2));
      assertTrue(first.isDone() && second.isDone());
      assertInstanceOf(ReadOnlyException.class, second.failure());
      assertThrows(ReadOnlyException.class, health::checkWritable);
      wal.close();
      memtable.release();
    }
  }

  private record Failing(Memtable active) implements CommitPipeline.Memtables {
    @Override
    public boolean isSealDue() {
      throw new AssertionError("injected");
    }

    @Override
    public void seal(long logNumber) {
      throw new AssertionError("never called");
    }
  }
}
