"""Prints reports as wrk2 does, from known figures; the tests of the parser read them back."""

from __future__ import annotations

from dataclasses import dataclass, field

TICK = "  "


@dataclass(frozen=True)
class Report:
    """The figures of one report; latencies in µs."""

    url: str = "http://localhost:8080"
    duration_s: float = 60
    threads: int = 4
    connections: int = 64
    requests: int = 1000
    elapsed_s: float = 60
    bytes_read: int = 123456
    requests_per_s: float = 16.67
    count: int = 900
    mean_us: float = 1500.0
    stdev_us: float = 250.0
    max_us: float = 9000.0
    percentiles_us: dict[str, float] = field(default_factory=dict)
    spectrum: list[tuple[float, float, int]] = field(default_factory=list)
    errors: tuple[int, int, int, int] = (0, 0, 0, 0)
    bad_status: int = 0
    calibrations: int = 4
    with_latency: bool = True
    uncorrected: bool = False


def time_text(us: float, places: int = 2) -> str:
    """Return a time as wrk2 prints it; from 0.85 of the next unit on, it is printed in that unit."""
    amount, unit = us, "us"
    for bigger, factor in (("ms", 1000), ("s", 1000), ("m", 60), ("h", 60)):
        if amount < factor * 0.85:
            break
        amount, unit = amount / factor, bigger
    return f"{amount:.{places}f}{unit}"


def bytes_text(amount: float) -> str:
    """Return a size as wrk2 prints it."""
    unit = "B"
    for bigger in ("KB", "MB", "GB", "TB"):
        if amount < 1024 * 0.85:
            break
        amount, unit = amount / 1024, bigger
    return f"{amount:.2f}{unit}"


def metric_text(amount: float) -> str:
    """Return a number as wrk2 prints it."""
    unit = ""
    for bigger in ("k", "M", "G"):
        if amount < 1000 * 0.85:
            break
        amount, unit = amount / 1000, bigger
    return f"{amount:.2f}{unit}"


def print_report(report: Report) -> str:
    """Return the whole text."""
    lines = [
        f"Running {time_text(report.duration_s * 1e6, 0)} test @ {report.url}",
        f"  {report.threads} threads and {report.connections} connections",
    ]
    lines += ["  Thread calibration: mean lat.: 2.372ms, rate sampling interval: 10ms"] * report.calibrations
    nothing = report.count == 0
    mean, stdev = ("-nanus", "-nanus") if nothing else (time_text(report.mean_us), time_text(report.stdev_us))
    largest = time_text(0 if nothing else report.max_us)
    lines += [
        "  Thread Stats   Avg      Stdev     Max   +/- Stdev",
        f"    Latency   {mean}   {stdev}   {largest}   {'-nan' if nothing else '68.75'}%",
        "    Req/Sec    14.66k     2.24k   18.91k    69.25%"
        if not nothing
        else "    Req/Sec     -nan      -nan   0.00      0.00%",
    ]
    if report.with_latency:
        lines += _block("Recorded Latency", report)
        if report.uncorrected:
            lines += _block("Uncorrected Latency (measured without taking delayed starts into account)", report)
    lines.append("----------------------------------------------------------") if report.with_latency else None
    lines.append(
        f"  {report.requests} requests in {time_text(report.elapsed_s * 1e6)}, {bytes_text(report.bytes_read)} read"
    )
    if any(report.errors):
        connect, read, write, timeout = report.errors
        lines.append(f"  Socket errors: connect {connect}, read {read}, write {write}, timeout {timeout}")
    if report.bad_status:
        lines.append(f"  Non-2xx or 3xx responses: {report.bad_status}")
    lines.append(f"Requests/sec: {report.requests_per_s:9.2f}")
    lines.append(f"Transfer/sec: {bytes_text(report.bytes_read / report.elapsed_s):>10}")
    return "\n".join(lines) + "\n"


def _block(title: str, report: Report) -> list[str]:
    lines = [f"  Latency Distribution (HdrHistogram - {title})"]
    names = ("50", "75", "90", "99", "99.9", "99.99", "99.999", "100")
    for name in names:
        value = time_text(report.percentiles_us.get(name, 0.0) if report.count else 0.0)
        lines.append(f"{float(name):7.3f}%  {value:>7} ")
    lines += ["", "  Detailed Percentile spectrum:", "       Value   Percentile   TotalCount 1/(1-Percentile)", ""]
    for value_us, quantile, total in report.spectrum:
        inverse = "inf" if quantile >= 1 else f"{1 / (1 - quantile):.2f}"
        lines.append(f"{value_us / 1e3:12.3f} {quantile:12.6f} {total:12d} {inverse:>12}")
    mean, stdev = (
        ("-nan", "-nan") if not report.count else (f"{report.mean_us / 1e3:.3f}", f"{report.stdev_us / 1e3:.3f}")
    )
    largest = report.max_us / 1e3 if report.count else 0.0
    return [
        *lines,
        f"#[Mean    = {mean:>12}, StdDeviation   = {stdev:>12}]",
        f"#[Max     = {largest:12.3f}, Total count    = {report.count:12d}]",
        "#[Buckets =           27, SubBuckets     =         2048]",
    ]
