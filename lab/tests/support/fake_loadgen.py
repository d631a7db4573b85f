"""Stands in for the load generator: wrk2's command line, one request, and the three outputs of docs/contracts.md.

Over `FAKE_SATURATED_AT_PER_S` requests a second, no more than that are served, and all latencies are 100 ms longer. A
load of a warm-up takes `FAKE_WARM_UP_TAKES_S`, whatever its length; its seconds are slower up to `FAKE_STEADY_AFTER_S`.
Another load takes `FAKE_MEASUREMENT_TAKES_S`, if that is set. With `FAKE_CPU_US_PER_REQUEST` the service is told how
many requests it served, lead-in included.
`FAKE_REFUSED` requests of each second are refused after 50 µs.
`FAKE_UNANSWERED` requests more than the answered ones are due and have no response; with `all` nothing is answered.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import signal
import socket
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogWriter

PERCENTILES = ("50", "75", "90", "99", "99.9", "99.99", "99.999", "100")


def main() -> None:
    words = sys.argv[1 : sys.argv.index("--")]
    short = {word[1]: word[2:] for word in words if re.fullmatch(r"-[tcdR]\S+", word)}
    options = dict(itertools.pairwise(words))
    url = words[-1]
    amount, unit = re.fullmatch(r"(\d+)(\w+)", short["d"]).groups()  # type: ignore[union-attr]
    duration = int(amount) * {"s": 1.0, "m": 60.0, "ms": 0.001}[unit]
    if "/profile/" in options.get("--json", ""):
        duration = float(os.environ.get("FAKE_PROFILED_S", duration))
    exit_code = int(os.environ.get("FAKE_LOADGEN_EXIT", "0"))
    if exit_code:
        print("loadgen: get.lua:3: attempt to index a nil value", file=sys.stderr)
        sys.exit(exit_code)
    started = datetime.now(UTC)
    ended_early = []
    signal.signal(signal.SIGINT, lambda *_: ended_early.append(1))
    told = get(f"{url}/v0/entity?id=k000000000")
    slower_ns = int(told) if told.isdigit() else 0
    if int(short["R"]) > saturated_at():
        slower_ns += 100_000_000
    if "FAKE_LOADGEN_STARTED" in os.environ:
        with Path(os.environ["FAKE_LOADGEN_STARTED"]).open("a") as told:
            told.write(f"{options['--json']} {short['d']}\n")
    if "FAKE_CPU_US_PER_REQUEST" in os.environ:
        lead_in_s = int(options.get("--warmup", "0s").removesuffix("s"))
        get(f"{url}/served?count={int(short['R']) * (lead_in_s + round(duration))}")
    takes = float(os.environ.get("FAKE_MEASUREMENT_TAKES_S", duration))
    if "/warm-up/" in options.get("--json", ""):
        takes = float(os.environ.get("FAKE_WARM_UP_TAKES_S", duration))
    began = time.monotonic()
    end = began + takes
    until = os.environ.get("FAKE_LOADGEN_UNTIL")
    while time.monotonic() < end and not ended_early and not (until and Path(until).exists()):
        time.sleep(0.01)
    if ended_early:
        duration = time.monotonic() - began
    elapsed = max(1, round(duration))
    write(options, short, elapsed, started, url, slower_ns=slower_ns)
    sys.exit(130 if ended_early else 0)


def get(url: str) -> bytes:
    """Return the body of an answer. Importing `urllib.request` takes longer than all else here."""
    host, _, path = url.removeprefix("http://").partition("/")
    name, _, port = host.partition(":")
    with socket.create_connection((name, int(port))) as connection:
        connection.sendall(f"GET /{path} HTTP/1.0\r\n\r\n".encode("ascii"))
        return b"".join(iter(lambda: connection.recv(65536), b"")).partition(b"\r\n\r\n")[2]


def saturated_at() -> float:
    return float(os.environ.get("FAKE_SATURATED_AT_PER_S", "inf"))


def series(seconds: int, rate: int) -> list[dict[str, float]]:
    if "FAKE_STEADY_AFTER_S" not in os.environ:
        return []
    steady_after_s = int(os.environ["FAKE_STEADY_AFTER_S"])
    return [
        {"t_s": t, "due": rate, "requests": rate, "p50_us": (900.0 if t < steady_after_s else 300.0) + t % 3}
        for t in range(seconds)
    ]


def write(
    options: dict[str, str], short: dict[str, str], seconds: int, started: datetime, url: str, *, slower_ns: int
) -> None:
    rate = int(short["R"])
    nothing = os.environ.get("FAKE_UNANSWERED") == "all"
    latencies_ns = [200_000 + slower_ns + (i * 7919) % 1_000_000 for i in range(rate)]  # of each second
    refused = int(os.environ.get("FAKE_REFUSED", "0"))
    latencies_ns[:refused] = [50_000] * refused
    interval, total, served = (HdrHistogram(1, 24 * 3600 * 10**9, 3) for _ in range(3))
    for latency_ns in [] if nothing else latencies_ns[refused:]:
        served.record_value(latency_ns, seconds)
    for latency_ns in [] if nothing else latencies_ns:
        interval.record_value(latency_ns)
    with Path(options["--hdr-log"]).open("w") as file:
        log = HistogramLogWriter(file)
        log.output_log_format_version()
        file.write(f"#[StartTime: {started.timestamp():.3f} (seconds since epoch), now]\n")
        log.output_legend()
        for second in range(seconds):
            log.output_interval_histogram(interval, second, second + 1, 1e6)
            total.add(interval)
    # Not the histogram's own percentiles either: each goes through all counts. Every value is there once a second.
    ordered = sorted(latencies_ns)
    ranks = {p: total.get_target_count_at_percentile(float(p)) for p in PERCENTILES}
    us = {p: total.get_highest_equivalent_value(ordered[(rank - 1) // seconds]) / 1000 for p, rank in ranks.items()}
    count = total.get_total_count()
    # Not the histogram's own mean and deviation: in Python they take more CPU time than all else here.
    mean_ns = sum(latencies_ns) / rate
    stdev_ns = math.sqrt(sum((latency_ns - mean_ns) ** 2 for latency_ns in latencies_ns) / rate)
    values = {"count": count, "min": total.get_min_value() / 1000, "mean": mean_ns / 1000,
              "stdev": stdev_ns / 1000, "max": us["100"], "percentiles": us}  # fmt: skip
    of_served = {"count": served.get_total_count(), "histogram": served.encode().decode()} if refused else None
    delay_us = float(os.environ.get("FAKE_GENERATOR_DELAY_US", "0"))
    net = {**values, "percentiles": {p: max(1.0, value - delay_us) for p, value in us.items()}} if delay_us else None
    if nothing:
        count, us = 0, dict.fromkeys(PERCENTILES)
        values = {"count": 0, "min": None, "mean": None, "stdev": None, "max": None, "percentiles": us}
    unanswered = rate * seconds if nothing else int(os.environ.get("FAKE_UNANSWERED", "0"))
    Path(options["--json"]).write_text(
        json.dumps(
            {
                "format": "lsmlab-load",
                "version": 1,
                "generator": {"name": "fake", "version": "1"},
                "url": url,
                "script": options["-s"],
                "threads": int(short["t"]),
                "connections": int(short["c"]),
                "duration_s": seconds,
                "rate_per_s": rate,
                "started_at": started.isoformat().replace("+00:00", "Z"),
                "requests_due": count + unanswered,
                "requests": count,
                "bytes_read": count * 100,
                "requests_per_s": 0.0 if nothing else min(float(rate), saturated_at()),
                "bytes_per_s": rate * 100.0,
                "elapsed_s": float(seconds),
                "lost": 0,
                "served": count - refused * seconds,
                "refused": refused * seconds,
                "goodput_per_s": 0.0 if nothing else min(float(rate), saturated_at()) - refused,
                "served_us": of_served,
                "latency_us": values,
                "uncorrected_us": values,
                "net_latency_us": net,
                "send_lag_us": values,
                "errors": {"connect": 0, "read": 0, "write": 0, "timeout": 0, "status": refused * seconds},
                "status": {"200": count - refused * seconds} | ({"503": refused * seconds} if refused else {}),
                "unfinished": {"count": unanswered, "oldest_us": 0},
                "censored": {"count": unanswered},
                "cpu_s": 0.1,
                "kept_schedule": {"verdict": True, "reasons": []},
                "series": series(seconds, rate),
            }
        )
    )
    if os.environ.get("FAKE_LOADGEN_CUTS_JSON"):
        whole = Path(options["--json"]).read_text()
        Path(options["--json"]).write_text(whole[: len(whole) // 2])
    if nothing:
        return
    print(f"Running {seconds}s test @ {url}\n  {short['t']} threads and {short['c']} connections")
    print("  Thread Stats   Avg      Stdev     Max   +/- Stdev")
    print("    Latency   700.00us  200.00us   1.20ms   60.00%\n    Req/Sec     1.00k     0.00    1.00k    100.00%")
    print("  Latency Distribution (HdrHistogram - Recorded Latency)")
    for p in PERCENTILES:
        print(f"{float(p):7.3f}%  {us[p] / 1000:.2f}ms")
    print("\n  Detailed Percentile spectrum:\n       Value   Percentile   TotalCount 1/(1-Percentile)\n")
    print(f"{us['50'] / 1000:12.3f}     0.500000 {count // 2:12d}         2.00")
    print(f"{us['100'] / 1000:12.3f}     1.000000 {count:12d}          inf")
    print(f"#[Mean    = {values['mean'] / 1000:12.3f}, StdDeviation   = {values['stdev'] / 1000:12.3f}]")
    print(f"#[Max     = {us['100'] / 1000:12.3f}, Total count    = {count:12d}]")
    print("#[Buckets =           27, SubBuckets     =         2048]")
    print("----------------------------------------------------------")
    print(f"  {count} requests in {seconds}.00s, {count * 100 / 1e6:.2f}MB read")
    print(f"Requests/sec: {rate:9.2f}\nTransfer/sec: {rate * 100 / 1e6:9.2f}MB")


main()
