"""Host: whether the machine is quiet, and each part on its own CPUs."""

from common import build, of_run, rate
from panels import RATE, Json, Row, series

STEAL_SHARE_MAX = 0.02
BUSY = f'1 - sum by (cpu) (rate(node_cpu_seconds_total{{mode=~"idle|iowait|steal"}}[{RATE}]))'

#: As the rule DiskNearlyFull has it.
FREE = (
    'node_filesystem_avail_bytes{mountpoint!~"/etc/.*", fstype!~"tmpfs|ramfs|squashfs|iso9660|erofs"}'
    " / node_filesystem_size_bytes"
)


def _cpus() -> Row:
    # A CPU that no run's plan uses has no role. It keeps its line, without the name of a part.
    planned = f"({BUSY}) * on (cpu) group_left (role) lab_cpu_role"
    return Row(
        "CPUs",
        [
            series(
                "CPU by core and the CPU plan",
                "Share of each CPU that is busy, named after the part of the run that the CPU plan puts there.",
                "percentunit",
                of_run(f"{planned} or on (cpu) ({BUSY})", "CPU {{cpu}}: {{role}}"),
                width=12,
            ),
            series(
                "CPUs used, by mode",
                "What the host's CPUs do.",
                "short",
                of_run(rate('node_cpu_seconds_total{mode!="idle"}', "mode"), "{{mode}}"),
                width=6,
                stacked=True,
            ),
            series(
                "Steal",
                "Share of the CPU time that the hypervisor gave to others. Above the line, 2%, the run is suspect.",
                "percentunit",
                of_run(f'max(rate(node_cpu_seconds_total{{mode="steal"}}[{RATE}]))', "worst CPU"),
                width=6,
                steps=[(None, "transparent"), (STEAL_SHARE_MAX, "red")],
            ),
        ],
    )


def _pressure() -> Row:
    return Row(
        "Pressure and scheduling",
        [
            series(
                "Pressure (PSI)",
                "Share of the time in which some task waits for CPU, disk or memory.",
                "percentunit",
                of_run(rate("node_pressure_cpu_waiting_seconds_total"), "CPU"),
                of_run(rate("node_pressure_io_waiting_seconds_total"), "disk"),
                of_run(rate("node_pressure_memory_waiting_seconds_total"), "memory"),
            ),
            series(
                "Context switches", "Of the whole host.", "ops", of_run(rate("node_context_switches_total"), "switches")
            ),
            series("Interrupts", "Of the whole host.", "ops", of_run(rate("node_intr_total"), "interrupts")),
        ],
    )


def _disk() -> Row:
    return Row(
        "Disk and memory",
        [
            series(
                "Disk throughput",
                "Bytes read and written each second, over all devices.",
                "Bps",
                of_run(rate("node_disk_read_bytes_total"), "read"),
                of_run(rate("node_disk_written_bytes_total"), "written"),
                width=6,
            ),
            series(
                "Disk busy",
                "Share of the time in which the busiest device has work.",
                "percentunit",
                of_run(f"max(rate(node_disk_io_time_seconds_total[{RATE}]))", "busiest device"),
                width=6,
            ),
            series(
                "Disk space left",
                "Free share of the fullest file system. Below the line, 5%, the run will soon end with an error.",
                "percentunit",
                of_run(
                    f"min({FREE})",
                    "free",
                ),
                width=6,
                steps=[(None, "transparent"), (0.05, "red")],
            ),
            series(
                "Memory available",
                "What the host could still give without swapping: the page cache counts.",
                "bytes",
                of_run("sum(node_memory_MemAvailable_bytes)", "available"),
                width=6,
            ),
        ],
    )


def build_board() -> Json:
    """The dashboard."""
    return build(
        "host",
        "The machine of the run: CPUs by the CPU plan, steal, pressure, disk, interrupts.",
        [_cpus(), _pressure(), _disk()],
    )
