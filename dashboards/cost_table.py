"""The table of `make bench-monitoring`, and its place in docs/benchmarks.md.

A figure's change in a block is the mean of the logarithms with monitoring minus the mean of those without. The 95%
interval is Student's t over the blocks. The noise is that of A/A: the difference between a block's first and last
window, both without monitoring (root mean square over the blocks).
"""

import json
import math
import os
import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from lab.machine.environment import describe_machine
from lab.machine.host import CpuTimes
from lab.paths import Checkout
from lab.statistics import Estimate, estimate, paired

PLAN = (False, True, True, False)
"""Whether each window of a block has monitoring."""
BEGIN, END = "<!-- bench-monitoring:begin -->", "<!-- bench-monitoring:end -->"
LOSS_MAX = 0.01
"""Share of the saturated throughput that monitoring may cost."""
FIGURES = {
    "throughput_per_s": ("saturated throughput", "1/s"),
    "p99_us": ("p99 at half of that rate", "µs"),
    "net_p99_us": ("… net of the load generator's delays", "µs"),
    "cpu_us": ("CPU time of a request at that rate", "µs"),
}
HEAD = """\
| | unit | without | with | change (95% interval) | spread of two windows without | target | |
|---|---|--:|--:|---|--:|---|---|
"""


@dataclass(frozen=True)
class Window:
    """One window: requests a second when saturated; latencies and CPU time of a request at the lower rate."""

    throughput_per_s: float
    p99_us: float
    net_p99_us: float
    cpu_us: float
    scrapes_per_s: float


Block = list[Window]
"""Four windows, in the order of PLAN."""


def table(blocks: list[Block], scrape_ms: float) -> str:
    """Return the table of two or more blocks, and a sentence about the scrapes."""
    watched = [window.scrapes_per_s for block in blocks for window in block[1:3]]
    return (
        HEAD
        + "".join(_row(figure, blocks) + "\n" for figure in FIGURES)
        + f"\nPrometheus scraped the service {statistics.mean(watched):.2f} times a second while it was there."
        f" A scrape takes {scrape_ms:.2f} ms of the service's CPU time.\n"
    )


def _row(figure: str, blocks: list[Block]) -> str:
    name, unit = FIGURES[figure]
    values = [[getattr(window, figure) for window in block] for block in blocks]
    logs = [[math.log(value) for value in block] for block in values]
    change = estimate(paired([(b + c - a - d) / 2 for a, b, c, d in logs]))
    apart = math.sqrt(statistics.mean((d - a) ** 2 for a, _, _, d in logs))
    without, watched = (
        statistics.median(value for block in values for value, has in zip(block, PLAN, strict=True) if has is wanted)
        for wanted in (False, True)
    )
    interval = f"{_percent(change.mean)} ({_percent(change.low)} … {_percent(change.high)})"
    cells = [name, unit, _number(without), _number(watched), interval, f"{100 * math.expm1(apart):.2f}%"]
    return f"| {' | '.join([*cells, *_judged(figure, change, apart)])} |"


def _judged(figure: str, change: Estimate, apart: float) -> tuple[str, str]:
    """Return the target of a figure, and whether the whole interval keeps or breaks it.

    The noise is that of one block, so many blocks can show a rise that is smaller.
    """
    if figure == "cpu_us":
        return "", ""
    if figure == "throughput_per_s":
        target, least, most, limit = f"≥ −{LOSS_MAX:.0%}", -change.high, -change.low, -math.log1p(-LOSS_MAX)
    else:
        target, least, most, limit = "within A/A noise", change.low, change.high, apart
    met = "met, and a rise is shown" if figure != "throughput_per_s" and least > 0 else "met"
    return target, met if most <= limit else "**not met**" if least > limit else "cannot tell"


def _percent(logarithm: float) -> str:
    """Return the logarithm of a ratio as a change."""
    return f"{100 * math.expm1(logarithm):+.2f}%".replace("-", "−")


def _number(value: float) -> str:
    """Return a number with three significant digits, or all digits before the decimal point if these are more."""
    return f"{value:,.{max(0, 2 - math.floor(math.log10(value)))}f}"


def environment(checkout: Checkout) -> dict[str, str]:
    """Return the facts about machine and source without which figures cannot be compared with another machine's."""
    machine = describe_machine(checkout)
    facts = {"at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
    if machine.cpu is not None:
        facts |= {"cpu": str(machine.cpu.model), "cpus": str(machine.cpu.logical)}
    facts["kernel"] = str(machine.kernel)
    if machine.git is not None:
        facts["commit"] = machine.git.commit[:12] + (" with changes" if machine.git.dirty else "")
    return {**facts, "load_average_at_start": f"{os.getloadavg()[0]:.2f}"}


def taken_by_host_percent(before: CpuTimes, after: CpuTimes) -> str:
    """Return the share of CPU time that the host of a virtual machine took between two readings."""
    return f"{100 * (after.steal - before.steal) / max(1, after.total - before.total):.1f}"


def write(out: Path, page: Path | None, blocks: list[Block], scrape_ms: float, facts: Mapping[str, str]) -> str:
    """Write monitoring.json and monitoring.md into `out`, and the table into `page`; return the table."""
    text = f"{table(blocks, scrape_ms)}\n{'; '.join(f'{name} {value}' for name, value in facts.items())}.\n"
    figures = {"scrape_cpu_ms": scrape_ms, "blocks": [[asdict(window) for window in block] for block in blocks]}
    out.mkdir(parents=True, exist_ok=True)
    document = json.dumps({"environment": dict(facts), "figures": figures}, indent=2, ensure_ascii=False)
    (out / "monitoring.json").write_text(document + "\n", encoding="utf-8")
    (out / "monitoring.md").write_text(text, encoding="utf-8")
    if page is not None:
        before, after = around_table(page)
        page.write_text(f"{before}\n{text.strip()}\n{after}", encoding="utf-8")
    return text


def around_table(page: Path) -> tuple[str, str]:
    """Return a page up to the first marker, and from the second one on. ValueError if it lacks one."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page} needs the lines {BEGIN} and {END}, in this order")
    return before + begin, end + after
