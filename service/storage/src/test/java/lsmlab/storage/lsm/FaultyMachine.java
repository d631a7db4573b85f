package lsmlab.storage.lsm;

import java.io.IOException;
import java.util.EnumSet;
import java.util.Set;
import java.util.SplittableRandom;
import lsmlab.storage.file.SimulatedDirectory;
import lsmlab.storage.file.SimulatedDirectory.Operation;

/** The faults of the machine in one history, over all lives of its store. Thread-safe. */
final class FaultyMachine {

  /** A fault of the simulated machine. */
  enum Fault {
    NO_SPACE(EnumSet.of(Operation.CREATE, Operation.WRITE, Operation.PAD)),
    NO_DESCRIPTORS(
        EnumSet.of(
            Operation.LOCK, Operation.LIST, Operation.CREATE, Operation.OPEN, Operation.MAP)),
    FAILED_SYNC(EnumSet.of(Operation.SYNC_FILE, Operation.SYNC_DIRECTORY)),
    /** Sectors of tables are read wrong. No operation fails. */
    DAMAGED_SECTOR(EnumSet.noneOf(Operation.class));

    private final Set<Operation> failing;

    Fault(Set<Operation> failing) {
      this.failing = failing;
    }
  }

  private static final int SECTOR_BYTES = 512;

  /** Generators of their own, so that no thread's timing changes what the others are given. */
  private final SplittableRandom plans;

  private final SplittableRandom sectors;
  private boolean repaired;
  private Fault fault;
  private int begin;
  private int end;
  private int operation;
  private int crash = Integer.MAX_VALUE;

  /** Faults and failed operations since {@link #forget}. */
  final Set<Fault> met = EnumSet.noneOf(Fault.class);

  final Set<Operation> failed = EnumSet.noneOf(Operation.class);

  FaultyMachine(SplittableRandom random) {
    plans = random.split();
    sectors = random.split();
    plan();
  }

  private void plan() {
    fault = Fault.values()[plans.nextInt(Fault.values().length)];
    begin = operation + plans.nextInt(1, 90);
    end = begin + (plans.nextInt(3) == 0 ? plans.nextInt(1, 60) : plans.nextInt(1, 8));
  }

  /** Forgets the faults that were met. Lets the process die after the given operations. */
  synchronized void forget(int operationsToCrash) {
    met.clear();
    failed.clear();
    crash = operationsToCrash == Integer.MAX_VALUE ? crash : operation + operationsToCrash;
  }

  /** No fault occurs until the next life. */
  synchronized void repair(boolean is) {
    repaired = is;
    if (is && operation >= begin) {
      plan();
    }
  }

  void install(SimulatedDirectory directory) {
    crash = Integer.MAX_VALUE;
    directory.setFault((kind, name) -> before(directory, kind, name));
    directory.setReadFault(this::damage);
  }

  private synchronized void before(SimulatedDirectory directory, Operation kind, String name)
      throws IOException {
    if (++operation >= crash) {
      directory.freeze();
    }
    if (repaired) {
      return;
    }
    if (operation >= end) {
      plan();
    }
    if (operation >= begin && fault.failing.contains(kind)) {
      met.add(fault);
      failed.add(kind);
      throw new IOException("injected: " + fault + " " + kind + " " + name);
    }
  }

  /**
   * Damages one sector of a table. Spares the logs and the manifest: if a sector holds both a
   * record and the record of its sync, its damage may look like a torn end.
   */
  private synchronized void damage(String name, byte[] content) {
    boolean table = name.endsWith(".sst");
    if (repaired || operation < begin || fault != Fault.DAMAGED_SECTOR || !table) {
      return;
    }
    met.add(fault);
    int from = sectors.nextInt(content.length / SECTOR_BYTES + 1) * SECTOR_BYTES;
    for (int at = from; at < Math.min(content.length, from + SECTOR_BYTES); at++) {
      content[at] ^= (byte) sectors.nextInt(1, 256);
    }
  }
}
