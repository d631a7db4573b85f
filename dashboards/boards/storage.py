"""Storage engine: memtables, WAL, flush, compaction, amplification, bloom filters, stalls."""

from common import build, of_run, rate
from panels import Json, Row, series


def _writes() -> Row:
    return Row(
        "Write path",
        [
            series(
                "WAL",
                "Bytes appended to the WAL each second: what the clients write.",
                "Bps",
                of_run(rate("lsmlab_wal_bytes_total"), "bytes"),
                width=6,
            ),
            series(
                "WAL syncs",
                "fsyncs each second. None with durability `process`.",
                "ops",
                of_run(rate("lsmlab_wal_syncs_total"), "syncs"),
                width=6,
            ),
            series(
                "Memtables",
                "Bytes in the memtable that takes writes and in the sealed ones that wait for their flush.",
                "bytes",
                of_run("sum(lsmlab_memtable_bytes)", "bytes"),
                width=6,
            ),
            series(
                "Sealed memtables",
                "Full ones that wait for their flush. At the limit of the configuration, writes are held back.",
                "short",
                of_run("sum(lsmlab_memtables_sealed)", "sealed"),
                width=6,
            ),
            series(
                "Writes held back",
                "Seconds that writers wait in each second: the memtables fill faster than they are flushed.",
                "s",
                of_run(rate("lsmlab_write_stall_seconds_total"), "stalled"),
                width=6,
                steps=[(None, "transparent"), (0.01, "red")],
            ),
            series(
                "Flush and compaction",
                "Bytes written to SSTables each second: by flushes once for each byte put, by compactions again.",
                "Bps",
                of_run(rate("lsmlab_flush_bytes_total"), "flush"),
                of_run(rate("lsmlab_compaction_bytes_total"), "compaction"),
                width=6,
                stacked=True,
            ),
            series(
                "Threads at work",
                "Threads busy with flushes and with compactions, on average: seconds of work in each second.",
                "short",
                of_run(rate("lsmlab_flush_seconds_total"), "flush"),
                of_run(rate("lsmlab_compaction_seconds_total"), "compaction"),
                width=6,
            ),
            series(
                "Flushes and compactions",
                "Finished in the last minute.",
                "short",
                of_run("sum(increase(lsmlab_flushes_total[1m]))", "flushes"),
                of_run("sum(increase(lsmlab_compactions_total[1m]))", "compactions"),
                width=6,
            ),
        ],
    )


def _amplification() -> Row:
    wal = "clamp_min(sum(increase(lsmlab_wal_bytes_total[1m])), 1)"
    written = "sum(increase(lsmlab_flush_bytes_total[1m])) + sum(increase(lsmlab_compaction_bytes_total[1m]))"
    storage = 'method=~"get|range", stage="storage"'
    return Row(
        "Amplification and SSTables",
        [
            series(
                "Write amplification",
                "Bytes written to SSTables for each byte appended to the WAL, over the last minute. 0 while nothing is "
                "written.",
                "short",
                of_run(f"({written}) / {wal}", "SSTable bytes a WAL byte"),
                width=6,
            ),
            series(
                "SSTables",
                "SSTables that a lookup may have to search.",
                "short",
                of_run("sum(lsmlab_tables)", "SSTables"),
                width=6,
            ),
            series(
                "Size of the SSTables",
                "Bytes on disk, superseded pairs and tombstones included.",
                "bytes",
                of_run("sum(lsmlab_table_bytes)", "bytes"),
                width=6,
            ),
            series(
                "Time in the storage engine",
                "Mean time of lookups and scans in the engine.",
                "s",
                of_run(
                    f"{rate(f'lsmlab_request_seconds_sum{{{storage}}}', 'method')} / "
                    f"{rate(f'lsmlab_request_seconds_count{{{storage}}}', 'method')}",
                    "{{method}}",
                ),
                width=6,
            ),
            series(
                "Bloom filters",
                "SSTable searches that the filters saved, and searches that found nothing although the filter let "
                "them, each second.",
                "ops",
                of_run(rate("lsmlab_bloom_negative_total"), "saved"),
                of_run(rate("lsmlab_bloom_false_positive_total"), "false positive"),
                width=12,
            ),
            series(
                "False positives of the bloom filters",
                "Share of the searches for absent keys that a filter let through: 1% with 10 bits a key.",
                "percentunit",
                of_run(
                    f"{rate('lsmlab_bloom_false_positive_total')} / clamp_min({rate('lsmlab_bloom_negative_total')}"
                    f" + {rate('lsmlab_bloom_false_positive_total')}, 1)",
                    "false positive",
                ),
                width=12,
            ),
        ],
    )


def build_board() -> Json:
    """The dashboard."""
    return build(
        "storage",
        "The LSM engine: WAL, memtables, flush, compaction, amplification, bloom filters, stalls.",
        [_writes(), _amplification()],
    )
