package lsmlab.storage.version;

import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.memtable.Memtable;
import lsmlab.storage.table.Table;
import lsmlab.storage.version.TableSet.Placed;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The open scans, and the limit on what they keep alive beyond the current version: flushed
 * memtables and replaced tables. If these exceed the limit, the oldest scans are ended. The newest
 * scan is never ended, because one scan keeps only one version alive. Thread-safe.
 *
 * <p>Flushed memtables may take as much memory as the store's own memtables. Replaced tables may
 * take as many bytes as all current tables, but at least {@link #TABLE_BYTES_MIN}.
 */
public final class OpenScans {

  private static final Logger LOG = LoggerFactory.getLogger(OpenScans.class);

  /** Number of bytes of replaced tables that scans may always keep. */
  private static final long TABLE_BYTES_MIN = 64 << 20;

  /** The open scans, oldest first. */
  private final Set<LsmScan> open = new LinkedHashSet<>();

  private final long memtableBytesMax;

  public OpenScans(LsmOptions options) {
    this.memtableBytesMax = options.flushThresholdBytes() * (options.memtablesMax() + 1L);
  }

  synchronized void add(LsmScan scan) {
    open.add(scan);
  }

  synchronized void remove(LsmScan scan) {
    open.remove(scan);
  }

  synchronized int count() {
    return open.size();
  }

  /** Enforces the limit on the reclaiming thread. Called after each change of the version. */
  public void enforceSoon(VersionSet versions) {
    if (count() > 0) {
      versions.runSoon(
          () -> {
            Version version = versions.acquire();
            try {
              enforce(version);
            } finally {
              VersionSet.releaseQuietly(version);
            }
          });
    }
  }

  /**
   * Ends the oldest scans until the others are within the limit. The caller holds a reference to
   * the version.
   */
  void enforce(Version current) {
    List<LsmScan> newestFirst;
    synchronized (this) {
      newestFirst = new ArrayList<>(open);
    }
    Collections.reverse(newestFirst);
    Set<Object> counted = Collections.newSetFromMap(new IdentityHashMap<>());
    counted.add(current.active());
    counted.addAll(current.sealed());
    current.tables().placed().forEach(placed -> counted.add(placed.table()));
    long tableBytesMax = Math.max(TABLE_BYTES_MIN, current.tables().bytes());
    long memtableBytes = 0;
    long tableBytes = 0;
    boolean full = false;
    for (LsmScan scan : newestFirst) {
      Version version = scan.version();
      if (version != current && counted.add(version)) {
        memtableBytes += uncounted(version.active(), counted);
        for (Memtable memtable : version.sealed()) {
          memtableBytes += uncounted(memtable, counted);
        }
        for (Placed placed : version.tables().placed()) {
          Table table = placed.table();
          tableBytes += counted.add(table) ? table.bytes() : 0;
        }
      }
      full |= memtableBytes > memtableBytesMax || tableBytes > tableBytesMax;
      if (full && version != current && scan != newestFirst.getFirst()) {
        end(scan, memtableBytes + tableBytes);
      }
    }
  }

  private static long uncounted(Memtable memtable, Set<Object> counted) {
    return counted.add(memtable) ? memtable.bytes() : 0;
  }

  private void end(LsmScan scan, long bytes) {
    String message =
        "the range was read too slowly: scans keep %d MB of replaced pairs alive; start another scan after the last key"
            .formatted(bytes >> 20);
    if (scan.end(message)) {
      LOG.info("a scan was ended: {}", message);
      remove(scan);
    }
  }
}
