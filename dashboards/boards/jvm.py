"""JVM: garbage collection, allocation, safepoints, JIT, memory, threads."""

from common import build, of_run, rate
from panels import RATE, Json, Row, series

SERVICE = '{job="service"}'


def _pauses() -> Row:
    return Row(
        "Pauses",
        [
            series(
                "Garbage collection",
                "Share of the time in collections, by collector. Above the line, 10%, the tail of the latency belongs "
                "to the collector.",
                "percentunit",
                of_run(rate("jvm_gc_collection_seconds_sum", "gc"), "{{gc}}"),
                steps=[(None, "transparent"), (0.1, "red")],
            ),
            series(
                "Collections",
                "Collections each second, by collector.",
                "ops",
                of_run(rate("jvm_gc_collection_seconds_count", "gc"), "{{gc}}"),
            ),
            series(
                "Safepoints",
                "Share of the time in which every thread of the service stands still, for whatever reason.",
                "percentunit",
                of_run(rate("jvm_safepoint_seconds_total"), "stopped"),
            ),
        ],
    )


def _work() -> Row:
    return Row(
        "Work",
        [
            series(
                "Allocation rate",
                "Bytes that all threads allocate each second.",
                "Bps",
                of_run(rate("jvm_allocated_bytes_total"), "allocated"),
                width=6,
            ),
            series(
                "Allocation for each request",
                "Bytes allocated for each response. A constant rate shows a change of the code here first.",
                "bytes",
                of_run(
                    f"{rate('jvm_allocated_bytes_total')} / clamp_min({rate('lsmlab_requests_total')}, 1)", "a response"
                ),
                width=6,
            ),
            series(
                "JIT compiler",
                "Seconds that the compiler works in each second. While it does, the service is still warming up.",
                "s",
                of_run(rate("jvm_compilation_time_seconds_total"), "compiling"),
                width=6,
            ),
            series(
                "CPUs used",
                "CPUs that the service uses, collector and compiler included.",
                "short",
                of_run(f"sum(rate(process_cpu_seconds_total{SERVICE}[{RATE}]))", "service"),
                width=6,
            ),
        ],
    )


def _memory() -> Row:
    return Row(
        "Memory and threads",
        [
            series(
                "Heap",
                "Bytes in use, bytes that the JVM has taken from the system, and the limit (-Xmx).",
                "bytes",
                of_run('sum(jvm_memory_used_bytes{area="heap"})', "used"),
                of_run('sum(jvm_memory_committed_bytes{area="heap"})', "committed"),
                of_run('sum(jvm_memory_max_bytes{area="heap"})', "limit"),
            ),
            series(
                "Heap by pool",
                "Bytes in use by pool: young objects, survivors, old ones.",
                "bytes",
                of_run(
                    'sum by (pool) (jvm_memory_pool_used_bytes{pool!~"Metaspace|Compressed Class Space|Code.*"})',
                    "{{pool}}",
                ),
                stacked=True,
            ),
            series(
                "Native memory",
                "Memory outside of the heap: code, classes, direct buffers, mapped files (SSTables), and the resident "
                "memory of the whole process.",
                "bytes",
                of_run('sum(jvm_memory_used_bytes{area="nonheap"})', "code and classes"),
                of_run('sum by (pool) (jvm_buffer_pool_used_bytes{pool=~"direct|mapped"})', "buffers: {{pool}}"),
                of_run(f"sum(process_resident_memory_bytes{SERVICE})", "resident"),
            ),
            series(
                "Threads",
                "Platform threads of the service.",
                "short",
                of_run("sum(jvm_threads_current)", "threads"),
                width=12,
            ),
            series(
                "Open files",
                "File descriptors of the service: SSTables, WAL, connections.",
                "short",
                of_run(f"sum(process_open_fds{SERVICE})", "descriptors"),
                width=12,
            ),
        ],
    )


def build_board() -> Json:
    """The dashboard."""
    return build(
        "jvm",
        "The service's JVM: pauses, allocation, JIT, memory, threads.",
        [_pauses(), _work(), _memory()],
    )
