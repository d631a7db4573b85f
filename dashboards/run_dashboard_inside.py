"""The inner rows of a run's dashboard: storage engine, JVM, host."""

from panels import RATE, Query, Row, series


def storage() -> Row:
    """The row."""
    return Row(
        "Storage engine",
        [
            series(
                "Memtable",
                "Bytes in the memtable that takes writes and in sealed ones that wait for their flush.",
                "bytes",
                Query("sum(lsmlab_memtable_bytes)", "bytes"),
                width=6,
            ),
            series(
                "Sealed memtables",
                "Full ones that wait for their flush. At the limit of the configuration, writes are held back.",
                "short",
                Query("sum(lsmlab_memtables_sealed)", "sealed"),
                width=6,
            ),
            series(
                "Flush and compaction",
                "Bytes written to tables each second: by flushes, once per byte that was put; by compactions, again.",
                "Bps",
                Query(f"sum(rate(lsmlab_flush_bytes_total[{RATE}]))", "flush"),
                Query(f"sum(rate(lsmlab_compaction_bytes_total[{RATE}]))", "compaction"),
                width=6,
                stacked=True,
            ),
            series(
                "Flushes and compactions at work",
                "Threads busy with each, on average: seconds of work in each second.",
                "short",
                Query(f"sum(rate(lsmlab_flush_seconds_total[{RATE}]))", "flush"),
                Query(f"sum(rate(lsmlab_compaction_seconds_total[{RATE}]))", "compaction"),
                width=6,
            ),
            series(
                "Tables",
                "Tables that a read may have to look into.",
                "short",
                Query("sum(lsmlab_tables)", "tables"),
                width=6,
            ),
            series(
                "Size of the tables",
                "Bytes on disk, superseded pairs and tombstones included.",
                "bytes",
                Query("sum(lsmlab_table_bytes)", "bytes"),
                width=6,
            ),
            series(
                "Write-ahead log",
                "Bytes handed to the kernel each second.",
                "Bps",
                Query(f"sum(rate(lsmlab_wal_bytes_total[{RATE}]))", "bytes"),
                width=6,
            ),
            series(
                "Syncs and write stalls",
                "fsyncs of the log each second, and the seconds writers wait for flushes in each second.",
                "short",
                Query(f"sum(rate(lsmlab_wal_syncs_total[{RATE}]))", "syncs/s"),
                Query(f"sum(rate(lsmlab_write_stall_seconds_total[{RATE}]))", "stalled s/s"),
                width=6,
            ),
            series(
                "Bloom filters",
                "Table look-ups that the filter saved, and those where it was wrong, each second.",
                "ops",
                Query(f"sum(rate(lsmlab_bloom_negative_total[{RATE}]))", "saved"),
                Query(f"sum(rate(lsmlab_bloom_false_positive_total[{RATE}]))", "false positive"),
                width=6,
            ),
            series(
                "Flushes and compactions",
                "Finished ones, counted over the last minute.",
                "short",
                Query("sum(increase(lsmlab_flushes_total[1m]))", "flushes"),
                Query("sum(increase(lsmlab_compactions_total[1m]))", "compactions"),
                width=6,
            ),
        ],
    )


def jvm() -> Row:
    """The row."""
    return Row(
        "JVM",
        [
            series(
                "Garbage collection",
                "Part of the time in collections, by collector.",
                "percentunit",
                Query(f"sum by (gc) (rate(jvm_gc_seconds_total[{RATE}]))", "{{gc}}"),
                width=6,
            ),
            series(
                "Collections",
                "Collections each second, by collector.",
                "ops",
                Query(f"sum by (gc) (rate(jvm_gc_collections_total[{RATE}]))", "{{gc}}"),
                width=6,
            ),
            series(
                "Safepoints",
                "Part of the time in which every thread of the service stands still, for whatever reason.",
                "percentunit",
                Query(f"sum(rate(jvm_safepoint_seconds_total[{RATE}]))", "stopped"),
                width=6,
            ),
            series(
                "Memory in use",
                "By area of the JVM, and the resident memory of the process, mapped tables included.",
                "bytes",
                Query("sum by (area) (jvm_memory_used_bytes)", "{{area}}"),
                Query('sum(process_resident_memory_bytes{job="service"})', "resident"),
                width=6,
            ),
            series("Threads", "Threads of the service.", "short", Query("sum(jvm_threads)", "threads"), width=6),
            series(
                "Connections",
                "Open connections of the data port.",
                "short",
                Query("sum(lsmlab_connections)", "connections"),
                width=6,
            ),
            series(
                "Open files",
                "File descriptors of the service: tables, log, connections.",
                "short",
                Query('sum(process_open_fds{job="service"})', "descriptors"),
                width=6,
            ),
        ],
    )


def host() -> Row:
    """The row."""
    return Row(
        "Host",
        [
            series(
                "CPU by process",
                "CPUs that each uses. Service and load generator have CPUs of their own where there are enough.",
                "short",
                Query(f'sum(rate(process_cpu_seconds_total{{job="service"}}[{RATE}]))', "service"),
                Query(f"sum(rate(loadgen_cpu_seconds_total[{RATE}]))", "load generator"),
                Query(f'sum(rate(node_cpu_seconds_total{{mode!~"idle|iowait|steal"}}[{RATE}]))', "whole host"),
            ),
            series(
                "CPU by core",
                "Part of each CPU that is busy.",
                "percentunit",
                Query(
                    f'1 - sum by (cpu) (rate(node_cpu_seconds_total{{mode=~"idle|iowait|steal"}}[{RATE}]))',
                    "CPU {{cpu}}",
                ),
            ),
            series(
                "CPU by mode",
                "Where the host's CPUs spend their time. Steal is taken by the hypervisor: a measurement with steal is "
                "suspect.",
                "short",
                Query(f'sum by (mode) (rate(node_cpu_seconds_total{{mode!="idle"}}[{RATE}]))', "{{mode}}"),
                stacked=True,
            ),
            series(
                "Disk",
                "Bytes read and written each second, over all devices.",
                "Bps",
                Query(f"sum(rate(node_disk_read_bytes_total[{RATE}]))", "read"),
                Query(f"sum(rate(node_disk_written_bytes_total[{RATE}]))", "written"),
            ),
            series(
                "Context switches",
                "Of the whole host.",
                "ops",
                Query(f"sum(rate(node_context_switches_total[{RATE}]))", "switches"),
            ),
            series(
                "Memory available",
                "What the host could still give without swapping: the page cache counts.",
                "bytes",
                Query("sum(node_memory_MemAvailable_bytes)", "available"),
            ),
        ],
    )
