#!/usr/bin/env python3
"""Measures what Prometheus and node-exporter cost the service that they watch: `make bench-monitoring`.

One service answers GETs of 100,000 pairs throughout. A block has four windows: without, with, with, without monitoring.
Each window has two loads: one above the saturated rate of the service, for its throughput, and one at half of it, for
latencies and the CPU time of a request. The table has their changes, each with a 95% interval over the blocks, beside
the distance of a block's two windows without monitoring.

Net p99 leaves out the load generator's own delays, because on a machine with two CPUs the monitoring shares its CPU. At
the end the CPU time of a scrape is measured separately: it is too small to show in the throughput of such a machine.
"""

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from dataclasses import replace
from pathlib import Path

from lab.machine.cpus import plan_cpus
from lab.machine.environment import describe_machine
from lab.paths import Checkout, find_checkout
from lab.process.locks import RunLock
from lab.prometheus import scrape as scrape_metrics
from lab.prometheus import warm_up_scrapes
from lab.runtime.base import LoadSpec, Ports, Service, ServiceSpec
from lab.runtime.local.monitoring import PROMETHEUS_PORT
from lab.runtime.local.runtime import LocalRuntime
from lab.statistics import estimate, paired
from lab.units import significant

PAIRS = ("pairs=100000",)
ABOVE_SATURATION_PER_S = 400_000
FILL_S, WARM_UP_S = 5.0, 20.0
SCRAPES = 200
SCRAPED_LIMIT_S = 60
PLAN = (False, True, True, False)
"""Whether each window of a block has monitoring."""
BEGIN, END = "<!-- bench-monitoring:begin -->", "<!-- bench-monitoring:end -->"
FIGURES = {
    "throughput_per_s": ("saturated throughput", "1/s"),
    "p99_us": ("p99 at half of that rate", "µs"),
    "net_p99_us": ("… net of the load generator's delays", "µs"),
    "cpu_us": ("CPU time of a request at that rate", "µs"),
}
HEAD = """\
| | unit | without | with | change (95% interval) | spread of two windows without |
|---|---|--:|--:|---|--:|
"""

Window = dict[str, float]
"""The figures of one window by name, and `scrapes_per_s`."""
Block = list[Window]
"""Four windows, in the order of PLAN."""


def table(blocks: list[Block], scrape_ms: float) -> str:
    """Return the table of two or more blocks, and a sentence about the scrapes."""
    watched = [window["scrapes_per_s"] for block in blocks for window in block[1:3]]
    return (
        HEAD
        + "".join(_row(figure, blocks) for figure in FIGURES)
        + f"\nPrometheus scraped the service {statistics.mean(watched):.2f} times a second while it was there."
        f" A scrape takes {scrape_ms:.2f} ms of the service's CPU time.\n"
    )


def _row(figure: str, blocks: list[Block]) -> str:
    """Return a row. A change in a block is the mean of the logarithms with monitoring minus that of those without."""
    logs = [[math.log(window[figure]) for window in block] for block in blocks]
    change = estimate(paired([(b + c - a - d) / 2 for a, b, c, d in logs]))
    apart = math.sqrt(statistics.mean((d - a) ** 2 for a, _, _, d in logs))
    without, watched = (
        statistics.median(window[figure] for block in blocks for window in block[columns][::step])
        for columns, step in ((slice(0, 4), 3), (slice(1, 3), 1))
    )
    interval = f"{_percent(change.mean)} ({_percent(change.low)} … {_percent(change.high)})"
    cells = [*FIGURES[figure], significant(without), significant(watched), interval, f"{100 * math.expm1(apart):.2f}%"]
    return f"| {' | '.join(cells)} |\n"


def _percent(logarithm: float) -> str:
    """Return the logarithm of a ratio as a change."""
    return f"{100 * math.expm1(logarithm):+.2f}%".replace("-", "−")


def around_table(page: Path) -> tuple[str, str]:
    """Return a page up to the first marker, and from the second one on. ValueError if it lacks one."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page} needs the lines {BEGIN} and {END}, in this order")
    return before + begin, end + after


def environment(checkout: Checkout) -> str:
    """Return machine and source, without which figures cannot be compared with another machine's."""
    machine = describe_machine(checkout)
    cpu = "unknown" if machine.cpu is None else f"{machine.cpu.logical} × {machine.cpu.model}"
    commit = "unknown" if machine.git is None else machine.git.commit[:12] + (" with changes" * machine.git.dirty)
    return f"cpus {cpu}; kernel {machine.kernel}; commit {commit}; load average at start {os.getloadavg()[0]:.2f}"


def ask_prometheus(query: str) -> float:
    """The sum of a query's values; 0 if there is no answer."""
    url = f"http://127.0.0.1:{PROMETHEUS_PORT}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=5) as answer:
            return sum(float(one["value"][1]) for one in json.load(answer)["data"]["result"])
    except OSError:
        return 0.0


class Measurement:
    """One service that is loaded in every window."""

    def __init__(self, runtime: LocalRuntime, service: Service, load: LoadSpec) -> None:
        self._runtime = runtime
        self._service = service
        self._load = load
        self._half_rate_per_s = 0

    def warm_up(self) -> None:
        """Fill the store, let the JVM compile, and find half of what the service can answer."""
        scripts = self._load.script.parent
        self._run(replace(self._load, script=scripts / "put.lua", rate_per_s=20_000, duration_s=FILL_S))
        warm_up_scrapes(f"{self._service.admin_url}/metrics")
        report = self._run(replace(self._load, duration_s=WARM_UP_S))
        self._half_rate_per_s = int(report["requests_per_s"] / 2)

    def window(self, seconds: float) -> Window:
        """Measure one window, and leave the monitoring on or off as it is."""
        began = time.time()
        throughput = self._run(replace(self._load, duration_s=seconds))["requests_per_s"]
        cpu_s = self._cpu_s()
        report = self._run(replace(self._load, rate_per_s=self._half_rate_per_s, duration_s=seconds))
        cpu_us = 1e6 * (self._cpu_s() - cpu_s) / report["requests"]
        lasted = time.time() - began
        scrapes = ask_prometheus(f'sum_over_time(up{{job="service"}}[{lasted:.0f}s])') / lasted
        p99_us, net_p99_us = (report[key]["percentiles"]["99"] for key in ("latency_us", "net_latency_us"))
        return dict(zip((*FIGURES, "scrapes_per_s"), (throughput, p99_us, net_p99_us, cpu_us, scrapes), strict=True))

    def scrape_cpu_ms(self) -> float:
        """CPU time of the service for one scrape, while it does nothing else."""
        scrape_metrics(f"{self._service.admin_url}/metrics")
        cpu_s = self._cpu_s()
        for _ in range(SCRAPES):
            if not scrape_metrics(f"{self._service.admin_url}/metrics", timeout_s=5):
                sys.exit("the service's metrics could not be read")
        return 1e3 * (self._cpu_s() - cpu_s) / SCRAPES

    def _cpu_s(self) -> float:
        # The number of another process's CPU clock, computed like clock_getcpuclockid(3) does.
        return time.clock_gettime((~self._service.pid << 3) | 2)

    def watch(self) -> None:
        """Start the monitoring, and wait until it has scraped the service and the host."""
        told: list[str] = []
        self._runtime.monitoring.up(plan_cpus(os.environ), Ports(), told.append)
        deadline = time.monotonic() + SCRAPED_LIMIT_S
        while ask_prometheus('up{job=~"service|node"}') < 2:
            if time.monotonic() > deadline:
                sys.exit(f"Prometheus has not scraped service and host within {SCRAPED_LIMIT_S} s. {' '.join(told)}")
            time.sleep(0.2)

    def _run(self, load: LoadSpec) -> dict:
        result = self._runtime.load(load, self._service, lambda _: None)
        if result.exit_code != 0:
            sys.exit(f"the load generator failed: {result.error_tail}")
        return json.loads((load.out / "load.json").read_text(encoding="utf-8"))


def measure(checkout: Checkout, block_count: int, seconds: float) -> tuple[list[Block], float]:
    """Return the blocks, and the CPU time of a scrape in milliseconds."""
    plan = plan_cpus(os.environ)
    lock, runtime = RunLock(checkout.run_lock), LocalRuntime(checkout)
    lock.take("bench-monitoring")
    blocks: list[Block] = []
    try:
        runtime.preflight(plan, Ports(), lambda _: None)
        with tempfile.TemporaryDirectory(dir=checkout.cache) as scratch:
            work = Path(scratch)
            (work / "data").mkdir()
            settings = {"engine": "lsm", "variant": "sync"}
            flags = ("-Xms1g", "-Xmx1g")
            service = runtime.start_service(ServiceSpec(work, settings, flags, plan.service, work / "service.log"))
            service.wait_ready(60)
            load = LoadSpec(
                checkout.scripts / "get.lua", ABOVE_SATURATION_PER_S, 2, 64, seconds, PAIRS, work,
                plan.loadgen, expect=(404,),
            )  # fmt: skip
            measurement = Measurement(runtime, service, load)
            measurement.warm_up()
            for number in range(1, block_count + 1):
                windows: Block = []
                for before, now in zip((False, *PLAN), PLAN, strict=False):
                    if now and not before:
                        measurement.watch()
                    elif before and not now:
                        runtime.monitoring.down()
                    windows.append(measurement.window(seconds))
                blocks.append(windows)
                told_now = ", ".join(f"{w['throughput_per_s']:,.0f}/s {w['net_p99_us']:,.0f} µs" for w in windows)
                print(f"block {number}: {told_now}", flush=True)
            scrape_ms = measurement.scrape_cpu_ms()
            service.stop()
    finally:
        runtime.close()
        lock.release()
    return blocks, scrape_ms


def main() -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=9, metavar="N", help="2 or more (default: 9, about 5 minutes)")
    parser.add_argument("--seconds", type=float, default=3, metavar="S", help="of each load (default: 3)")
    parser.add_argument("--quick", action="store_true", help="2 blocks, not for quoting: the page stays as it is")
    parser.add_argument("--update-docs", type=Path, metavar="PAGE", help="page whose table is replaced")
    options = parser.parse_args()
    if options.blocks < 2 or options.seconds < 1:
        parser.error("at least 2 blocks, and at least 1 second")
    page = None if options.quick else options.update_docs
    if page is not None:
        try:
            around_table(page)
        except (OSError, ValueError) as error:
            parser.error(f"--update-docs: {error}")
    checkout = find_checkout()
    about = environment(checkout)
    blocks, scrape_ms = measure(checkout, 2 if options.quick else options.blocks, options.seconds)
    text = f"{table(blocks, scrape_ms)}\n{about}; {len(blocks)} blocks, loads of {options.seconds:g} s.\n"
    if page is not None:
        before, after = around_table(page)
        page.write_text(f"{before}\n{text}{after}", encoding="utf-8")
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
