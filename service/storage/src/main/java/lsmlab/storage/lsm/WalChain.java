package lsmlab.storage.lsm;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.Durability;
import lsmlab.storage.file.StoreDirectory;
import lsmlab.storage.manifest.LogEntry;
import lsmlab.storage.manifest.Manifest;
import lsmlab.storage.wal.WalFormat;
import lsmlab.storage.wal.WalReader;

/**
 * The logs that a store still needs, and what other files record about each of them. The first
 * record of each log holds the number and the length of its predecessor. The manifest names one log
 * that is durable, as are all before it. Immutable.
 *
 * <p>Two simpler designs do not work. A manifest that names every log may name one that a full disk
 * kept from being created, and a sound store is then refused. The chain alone does not notice that
 * the newest log is missing or cut short after a clean stop.
 */
final class WalChain {

  private final StoreDirectory directory;
  private final long firstLog;
  private final LogEntry durable;
  private final TreeSet<Long> numbers = new TreeSet<>();
  private final Map<Long, WalReader.Result> begins = new HashMap<>();

  /** Logs that have a first record. */
  private final TreeSet<Long> begun = new TreeSet<>();

  /**
   * @param names names of the files in the directory
   * @throws CorruptionException if a log is missing, or its first record is damaged
   */
  WalChain(StoreDirectory directory, List<String> names, Manifest manifest) throws IOException {
    this.directory = directory;
    this.firstLog = manifest.firstLog();
    this.durable = manifest.durableLog();
    for (String name : names) {
      if (WalFormat.number(name) >= firstLog) {
        numbers.add(WalFormat.number(name));
      }
    }
    if (durable.number() >= firstLog && !numbers.contains(durable.number())) {
      throw new CorruptionException(
          describe(durable.number())
              + " is missing, but the manifest names it: restore the store from a copy");
    }
    for (long log : numbers) {
      begins.put(log, WalReader.begin(directory, log));
      if (begins.get(log).length() > 0) {
        begun.add(log);
      }
    }
  }

  /** Returns the numbers of the logs, oldest first. */
  List<Long> numbers() {
    return new ArrayList<>(numbers);
  }

  boolean contains(long log) {
    return numbers.contains(log);
  }

  /**
   * Returns the length of this log as the next log records it; −1 if the next log does not record
   * it.
   */
  long expectedLength(long log) {
    Long next = begun.higher(log);
    return next != null && begins.get(next).previous() == log
        ? begins.get(next).previousLength()
        : -1;
  }

  /** Whether the predecessor of this log, with the length that it records, was durable. */
  private boolean isPreviousDurable(long log) {
    return log <= durable.number() || begins.get(log).durability() == Durability.POWER;
  }

  /**
   * Whether the predecessor of this log was lost in a loss of power.
   *
   * @throws CorruptionException if it is missing and a loss of power cannot be the cause
   */
  boolean isPreviousLost(long log) {
    WalReader.Result begin = begins.get(log);
    if (begin.previous() < firstLog || numbers.contains(begin.previous())) {
      return false;
    }
    if (isPreviousDurable(log)) {
      throw new CorruptionException(
          describe(begin.previous())
              + " is missing, but "
              + WalFormat.fileName(log)
              + " follows it: restore the store from a copy");
    }
    return true;
  }

  /**
   * Whether the end of a log that has only {@code length} bytes was lost in a loss of power, so
   * that later logs must be dropped.
   *
   * @throws CorruptionException if it is missing and a loss of power cannot be the cause
   */
  boolean isEndLost(long log, long length) {
    long onDevice = log == durable.number() ? durable.length() : 0;
    long expected = expectedLength(log);
    if (length < expected && isPreviousDurable(begun.higher(log))) {
      onDevice = Math.max(onDevice, expected);
    }
    if (length < onDevice) {
      throw new CorruptionException(
          "%s at offset %d: the log ends, but %d bytes of it were synced: restore the store from a copy"
              .formatted(describe(log), length, onDevice));
    }
    return length < expected;
  }

  private String describe(long log) {
    return directory.describe(WalFormat.fileName(log));
  }
}
