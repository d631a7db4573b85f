"""Storage engine: memtables, WAL, flush, compaction, levels, amplification, bloom filters, stalls."""

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
                "Seconds that writers wait in each second, by cause: flushes or compactions do not keep up.",
                "s",
                of_run(rate("lsmlab_write_stall_seconds_total", "cause"), "{{cause}}"),
                width=6,
                stacked=True,
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


def _levels() -> Row:
    return Row(
        "Levels",
        [
            series(
                "SSTables by level",
                "Flushes add to level 0, which lookups search table by table; a deeper level is one sorted run.",
                "short",
                of_run("sum by (level) (lsmlab_level_tables)", "level {{level}}"),
                width=6,
                stacked=True,
            ),
            series(
                "Bytes by level",
                "Bytes in the SSTables of each level.",
                "bytes",
                of_run("sum by (level) (lsmlab_level_bytes)", "level {{level}}"),
                width=6,
                stacked=True,
            ),
            series(
                "Written into a level",
                "Bytes that flushes (level 0) and compactions (the deeper ones) write each second.",
                "Bps",
                of_run(rate("lsmlab_level_written_bytes_total", "level"), "level {{level}}"),
                width=6,
                stacked=True,
            ),
            series(
                "Score",
                "How urgent a compaction of each level is: it is due from 1 on.",
                "short",
                of_run("sum by (level) (lsmlab_level_score)", "level {{level}}"),
                width=6,
                steps=[(None, "transparent"), (1, "red")],
            ),
        ],
    )


def _amplification() -> Row:
    accepted = "clamp_min(sum(increase(lsmlab_accepted_bytes_total[1m])), 1)"
    written = " + ".join(f"sum(increase(lsmlab_{what}_bytes_total[1m]))" for what in ("wal", "flush", "compaction"))
    lookups = f"clamp_min({rate('lsmlab_table_lookups_total')}, 1)"
    storage = 'method=~"get|range", stage="storage"'
    return Row(
        "Amplification and SSTables",
        [
            series(
                "Write amplification",
                "Bytes written to the WAL and to SSTables for each byte put, over the last minute; 0 without any.",
                "short",
                of_run(f"({written}) / {accepted}", "bytes a byte put"),
                width=6,
            ),
            series(
                "Read amplification",
                "SSTables searched by each lookup that no memtable answered. A filter that excludes the key saves one.",
                "short",
                of_run(f"{rate('lsmlab_table_searches_total')} / {lookups}", "searches a lookup"),
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
                width=12,
            ),
            series(
                "Bloom filters",
                "SSTable searches that the filters saved, and searches that found nothing although the filter let "
                "them, each second.",
                "ops",
                of_run(rate("lsmlab_bloom_negative_total"), "saved"),
                of_run(rate("lsmlab_bloom_false_positive_total"), "false positive"),
                width=6,
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
                width=6,
            ),
        ],
    )


def build_board() -> Json:
    """The dashboard."""
    return build(
        "storage",
        "The LSM engine: WAL, memtables, flush, compaction, levels, amplification, bloom filters, stalls.",
        [_writes(), _levels(), _amplification()],
    )
