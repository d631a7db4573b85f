"""The text report of wrk2, of load generators that print the same, and of wrk.

People paste such reports. The parser takes text that is indented, quoted, wrapped in prose or in a code fence, prefixed
by a log, with carriage returns of a progress line, with colours, as a string of JSON with its escapes, and with or
without every optional line.
``parse_reports`` takes any number of reports, also one that is cut off at its end. It says what a report lacks, and
which of its figures are no numbers, impossible or contradict each other. ``parse_load_text`` takes the one whole report
of a run.

wrk has no constant rate: it sends the next request after an answer, so its latencies leave out the time that requests
waited to be sent. They are read as uncorrected ones, and no run can have them. Its report is known by the distribution
that ``--latency`` prints; without that it has the lines of wrk2's.

Values that the text lacks stay unknown. wrk2 rounds: the duration in its first line ("2m" may have been 90 s), and
percentiles to two decimals of their unit. A percentile that is also a row of the spectrum is taken from that row, which
has three decimals of a millisecond.
"""

from __future__ import annotations

import math
import re
from itertools import pairwise

from lab.analysis.load import Calibration, Generator, Load, LoadError, SpectrumRow, TextOnly, ThreadStats, Values
from lab.manifest import Errors

_COUNT = r"(?<!\d)\d{1,18}"
_NUMBER = r"-?(?:\d+(?:\.\d+)?|(?i:nan|inf))"
_TIME = rf"({_NUMBER})(us|ms|s|m|h|(?i:(?<=nan)|(?<=inf)))"
_METRIC = rf"({_NUMBER})([kMGTP]?)"
_BYTES = rf"({_NUMBER})([KMGTP]?B)"
_ERROR_KINDS = ("connect", "read", "write", "timeout")

_TIME_US = {"": 1.0, "us": 1.0, "ms": 1e3, "s": 1e6, "m": 60e6, "h": 3600e6}
_METRIC_SCALE = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BYTE_SCALE = {"B": 1.0, "KB": 2.0**10, "MB": 2.0**20, "GB": 2.0**30, "TB": 2.0**40, "PB": 2.0**50}

_ESCAPED = re.compile(r"\\+u(?!d[89a-f])([0-9a-f]{4})", re.IGNORECASE)
_COLOUR = re.compile(r"(?:\x1b|\\+(?:x1b|033|e))\[[0-9;?]*[A-Za-z]", re.IGNORECASE)
_ESCAPED_SPACE = re.compile(r"\\+([rnt])")
_QUOTING = re.compile(r"^[\s>|*│┃]+")
_CLOSING = re.compile(r"(?:[\s`│┃|\"',\\]|(?<=[\"'])[\]}]+)+$")

_RUNNING = re.compile(rf"Running {_TIME} test @ (\S+)")
_PARTIES = re.compile(rf"({_COUNT}) threads? and ({_COUNT}) connections?$")
_CALIBRATION = re.compile(rf"Thread calibration: mean lat\.: ({_NUMBER})ms, rate sampling interval: ({_NUMBER})ms$")
_STATS_LATENCY = re.compile(rf"Latency\s+{_TIME}\s+{_TIME}\s+{_TIME}\s+({_NUMBER})%$")
_STATS_RATE = re.compile(rf"Req/Sec\s+{_METRIC}\s+{_METRIC}\s+{_METRIC}\s+({_NUMBER})%$")
_BLOCK = re.compile(r"Latency Distribution \(HdrHistogram - (Recorded|Uncorrected) Latency")
_WRK_BLOCK = re.compile(r"Latency Distribution$")
_PERCENTILE = re.compile(rf"(\d+(?:\.\d+)?)%\s+{_TIME}$")
_SPECTRUM = re.compile(rf"({_NUMBER})\s+(\d\.\d+)\s+({_COUNT})\s+(?:\d+\.\d+|inf)$")
_MEAN = re.compile(rf"#\[Mean\s*=\s*({_NUMBER}), StdDeviation\s*=\s*({_NUMBER})\]$")
_MAX = re.compile(rf"#\[Max\s*=\s*({_NUMBER}), Total count\s*=\s*({_COUNT})\]$")
_TOTAL = re.compile(rf"({_COUNT}) requests in {_TIME}, {_BYTES} read$")
_SOCKET_ERRORS = re.compile(
    rf"Socket errors: connect ({_COUNT}), read ({_COUNT}), write ({_COUNT}), timeout ({_COUNT})$"
)
_BAD_STATUS = re.compile(rf"Non-2xx or 3xx responses: ({_COUNT})$")
_PER_SECOND = re.compile(rf"Requests/sec:\s+({_NUMBER})$")
_TRANSFER = re.compile(rf"Transfer/sec:\s+{_BYTES}$")
_COMMAND = re.compile(r"\bwrk2?\b.*?\s(?:-R\s*|--rate[ =])(\d+(?:\.\d+)?)([kMG]?)\b")

DURATION_RATIO = (0.7, 1.55)
"""Elapsed time ÷ duration of the first line, which wrk2 rounds to whole units: "2m" may be 90 s, "1m" 89 s."""
RATE_WITHIN = 0.05
"""By how much Requests/sec may differ from requests ÷ elapsed time, which has three digits."""
ROUNDED_WITHIN = 0.02
"""By how much figures of a distribution may differ that are the same but for rounding, of print and of histogram."""

_HINT = "Give the whole of what wrk2 printed, from 'Running … test @ …' to 'Transfer/sec: …'."


def parse_load_text(text: str, where: str = "the text") -> Load:
    """Parse the only report of wrk2 in ``text``; ``where`` names it in errors.

    Raises ``LoadError`` if there is none, if there are several, if it is cut off, or if it is wrk's.
    """
    lines = _lines(text)
    starts = _starts(lines, where)
    if len(starts) > 1:
        numbers = " and ".join(str(i + 1) for i in starts[:2])
        raise LoadError(f"{where}: holds {len(starts)} reports, on lines {numbers}", "Give one report at a time.")
    load = _parsed(lines, 0, starts[0], len(lines))
    if load.generator.name == "wrk":
        raise LoadError(f"{where}: a report of wrk, not of wrk2: {_NO_RATE}", _UNLIKE)
    if load.text is not None and load.text.missing:
        raise LoadError(f"{where}: the report is cut off: no line '{load.text.missing[0]}'", _HINT)
    return load


def parse_reports(text: str, where: str = "the text") -> list[Load]:
    """Parse all reports of wrk2 in ``text``, in order; of one that is cut off, what is there.

    ``text.missing`` of a report names the lines that it lacks. Its number of requests is 0 if it lacks that line.
    Raises ``LoadError`` if there is no report.
    """
    lines = _lines(text)
    starts = _starts(lines, where)
    between = zip([0, *starts], starts, [*starts[1:], len(lines)], strict=False)
    return [_parsed(lines, above, start, end) for above, start, end in between]


def _lines(text: str) -> list[str]:
    text = _COLOUR.sub("", _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text))
    plain = _ESCAPED_SPACE.sub(lambda match: " " if match[1] == "t" else "\n", text)
    return [_clean(line) for line in plain.splitlines()]


def _starts(lines: list[str], where: str) -> list[int]:
    starts = [i for i, line in enumerate(lines) if _RUNNING.search(line)]
    if not starts:
        raise LoadError(f"{where}: not wrk2's output: no line 'Running … test @ …'", _HINT)
    return starts


def _parsed(lines: list[str], above: int, start: int, end: int) -> Load:
    """Parse the report that begins at ``start`` and ends before ``end``; its command line may be from ``above`` on."""
    report = _Report()
    for line in lines[start:end]:
        report.take(line)
        if report.ended:
            break
    load = report.load()
    rates = [rate for line in lines[above:start] if (rate := _rate(line)) is not None]
    load.rate_per_s = rates[-1] if rates else None
    return load


class _Report:
    """The lines of one report so far. Unknown lines are ignored: forks of wrk2 print more."""

    def __init__(self) -> None:
        self._generator = "wrk2"
        self._values: dict[str, str | float | int | None] = {}
        self._text = TextOnly()
        self._blocks: dict[str, Values] = {}
        self._block: Values | None = None
        self._errors = Errors()
        self.ended = False

    def take(self, line: str) -> None:
        if match := _RUNNING.search(line):
            self._values |= {"duration_s": _us(match[1], match[2], 1e-6), "url": match[3]}
        elif match := _PARTIES.search(line):
            self._values |= {"threads": int(match[1]), "connections": int(match[2])}
        elif match := _CALIBRATION.search(line):
            mean, interval = _number(match[1]), _number(match[2])
            self._text.calibrations.append(
                Calibration(mean_latency_us=None if mean is None else mean * 1e3, sampling_interval_ms=interval)
            )
        elif match := _STATS_LATENCY.search(line):
            self._text.latency_us = ThreadStats(
                mean=_us(match[1], match[2]),
                stdev=_us(match[3], match[4]),
                max=_us(match[5], match[6]),
                within_stdev_percent=_number(match[7]),
            )
        elif match := _STATS_RATE.search(line):
            self._text.requests_per_s = ThreadStats(
                mean=_scaled(match[1], _METRIC_SCALE[match[2]]),
                stdev=_scaled(match[3], _METRIC_SCALE[match[4]]),
                max=_scaled(match[5], _METRIC_SCALE[match[6]]),
                within_stdev_percent=_number(match[7]),
            )
        elif match := _BLOCK.search(line):
            self._block = self._blocks.setdefault(match[1], Values())
        elif _WRK_BLOCK.search(line):
            self._generator = "wrk"
            self._block = self._blocks.setdefault("Uncorrected", Values())
        elif match := _TOTAL.search(line):
            read = _scaled(match[4], _BYTE_SCALE[match[5]])
            self._values |= {
                "requests": int(match[1]),
                "elapsed_s": _us(match[2], match[3], 1e-6),
                "bytes_read": None if read is None else round(read),
            }
        elif match := _SOCKET_ERRORS.search(line):
            counts = dict(zip(_ERROR_KINDS, map(int, match.groups()), strict=True))
            self._errors = self._errors.model_copy(update=counts)
        elif match := _BAD_STATUS.search(line):
            self._errors = self._errors.model_copy(update={"status": int(match[1])})
        elif match := _PER_SECOND.search(line):
            self._values["requests_per_s"] = _number(match[1])
        elif match := _TRANSFER.search(line):
            self._values["bytes_per_s"] = _scaled(match[1], _BYTE_SCALE[match[2]])
            self.ended = True
        elif self._block is not None:
            _take_in_block(self._block, line)

    def load(self) -> Load:
        self._text.missing = [line for key, line in _LAST_LINES.items() if key not in self._values]
        self._text.doubts = self._doubts()
        latencies = {kind: _finished(block) for kind, block in self._blocks.items()}
        own = "Recorded" if self._generator == "wrk2" else "Uncorrected"
        latency = latencies.get(own, Values())
        if latency.count is None and self._text.latency_us is not None:
            stats = self._text.latency_us
            latencies[own] = latency.model_copy(update={"mean": stats.mean, "stdev": stats.stdev, "max": stats.max})
        return Load.model_validate(
            {
                "generator": Generator(name=self._generator),
                "latency_us": latencies.get("Recorded", Values()),
                "uncorrected_us": latencies.get("Uncorrected"),
                "errors": self._errors,
                "text": self._text,
                "requests": 0,
                **self._values,
            }
        )

    def _doubts(self) -> list[str]:
        """Return which figures of the report are no numbers, impossible, or contradict each other."""
        duration_s, elapsed_s, requests, per_s = (
            value if isinstance(value := self._values.get(name), int | float) else None
            for name in ("duration_s", "elapsed_s", "requests", "requests_per_s")
        )
        doubts = [f"a report of wrk: {_NO_RATE}. {_UNLIKE}"] if self._generator == "wrk" else []
        unknown = [line for key, line in _FIGURE_LINES.items() if key in self._values and self._values[key] is None]
        doubts += [f"no number in '{line}'" for line in dict.fromkeys(unknown)]
        for kind, block in self._blocks.items():
            wrks = self._generator == "wrk"
            doubts += _doubts_of(block, "latency" if kind == "Recorded" or wrks else "uncorrected latency")
        if duration_s and elapsed_s is not None and not _within(elapsed_s / duration_s, *DURATION_RATIO):
            doubts.append(
                f"it ran for {elapsed_s:.6g} s and its first line says {duration_s:g} s: interrupted, or a wrong clock"
            )
        if elapsed_s and requests and per_s is not None:
            rate = requests / elapsed_s
            if not _within(per_s / rate, 1 - RATE_WITHIN, 1 + RATE_WITHIN):
                doubts.append(
                    f"{requests:,} requests in {elapsed_s:.6g} s are {rate:,.2f}/s, and it says {per_s:,.2f}/s"
                )
        return doubts


_NO_RATE = "it has no constant rate, so its latencies are uncorrected"
_UNLIKE = "They leave out the time that requests waited to be sent, and cannot stand beside others."

REQUESTS_LINE = "… requests in …"
_LAST_LINES = {"requests": REQUESTS_LINE, "requests_per_s": "Requests/sec: …", "bytes_per_s": "Transfer/sec: …"}
"""The lines at the end of every report, by a figure of theirs."""
_FIGURE_LINES = {
    "duration_s": "Running … test @ …",
    "elapsed_s": REQUESTS_LINE,
    "bytes_read": REQUESTS_LINE,
    "requests_per_s": _LAST_LINES["requests_per_s"],
    "bytes_per_s": _LAST_LINES["bytes_per_s"],
}
"""The lines with figures that printf may print as nan or inf."""


def _within(value: float, low: float, high: float) -> bool:
    return low <= value <= high


def _take_in_block(block: Values, line: str) -> None:
    if match := _PERCENTILE.search(line):
        block.percentiles[_percentile(match[1])] = _us(match[2], match[3])
    elif match := _SPECTRUM.search(line):
        value_ms = _number(match[1])
        if value_ms is not None:
            row = SpectrumRow(value_us=value_ms * 1e3, quantile=float(match[2]), total_count=int(match[3]))
            block.spectrum.append(row)
    elif match := _MEAN.search(line):
        mean, stdev = _number(match[1]), _number(match[2])
        block.mean = None if mean is None else mean * 1e3
        block.stdev = None if stdev is None else stdev * 1e3
    elif match := _MAX.search(line):
        largest = _number(match[1])
        block.max = None if largest is None else largest * 1e3
        block.count = int(match[2])


def _doubts_of(block: Values, name: str) -> list[str]:
    """Return what cannot be in a distribution as it is printed; ``name`` says what it is of."""
    if block.count == 0:
        return []
    doubts = []
    unknown = [f"{percentile}%" for percentile, value in block.percentiles.items() if value is None]
    if unknown:
        doubts.append(f"no number at {', '.join(unknown)} of the {name}")
    if block.count:
        figures = {"mean": block.mean, "deviation": block.stdev, "maximum": block.max}
        doubts += [f"no number as {figure} of the {name}" for figure, value in figures.items() if value is None]
    doubts += [f"a {name} at {percentile}%" for percentile in block.percentiles if float(percentile) > 100]
    rows = [(p, value) for p, value in block.percentiles.items() if value is not None and float(p) <= 100]
    rows.sort(key=lambda row: float(row[0]))
    for (lower, below_us), (upper, above_us) in pairwise(rows):
        if above_us < below_us:
            doubts.append(f"the {name} at {lower}% is {below_us / 1e6:.6g} s and at {upper}% {above_us / 1e6:.6g} s")
    for row, following in pairwise(block.spectrum):
        if following.value_us < row.value_us or following.total_count < row.total_count:
            doubts.append(f"the spectrum of the {name} falls after its row {row.quantile:.6f}")
    if block.mean is not None and block.max is not None and block.mean > block.max * (1 + ROUNDED_WITHIN):
        doubts.append(f"the mean of the {name} is {block.mean / 1e6:.6g} s and its maximum {block.max / 1e6:.6g} s")
    largest = block.percentiles.get("100")
    if largest and block.max and not _within(largest / block.max, 1 - ROUNDED_WITHIN, 1 + ROUNDED_WITHIN):
        doubts.append(f"the {name} at 100% is {largest / 1e6:.6g} s and its maximum {block.max / 1e6:.6g} s")
    return doubts


def _finished(block: Values) -> Values:
    """Drop what wrk2 prints without samples; take percentiles with a row in the spectrum from there."""
    if block.count == 0:
        return Values(count=0)
    exact = {f"{row.quantile * 100:.6f}": row.value_us for row in block.spectrum}
    percentiles = {
        name: exact.get(f"{float(name):.6f}", value) if value is not None else None
        for name, value in block.percentiles.items()
    }
    lowest = block.spectrum[0].value_us if block.spectrum and block.spectrum[0].quantile == 0 else None
    return block.model_copy(update={"percentiles": percentiles, "min": lowest})


def _clean(line: str) -> str:
    """Return the line without quoting and margins."""
    return _CLOSING.sub("", _QUOTING.sub("", line.replace("\u00a0", " ").replace("\t", " ")))


def _percentile(printed: str) -> str:
    """Return "99.9" for "99.900", "50" for "50.000"."""
    return printed.rstrip("0").rstrip(".") if "." in printed else printed


def _number(printed: str) -> float | None:
    """Return what is printed; None for nan, inf, and what is below 0, as no figure of a report is."""
    value = float(printed)
    return value if 0 <= value < math.inf else None


def _scaled(printed: str, scale: float) -> float | None:
    value = _number(printed)
    return None if value is None else round(value * scale, 6)


def _us(printed: str, unit: str, per_us: float = 1.0) -> float | None:
    return _scaled(printed, _TIME_US[unit] * per_us)


def _rate(line: str) -> float | None:
    """Return the rate from a command line of wrk2 that was pasted with its output."""
    match = _COMMAND.search(line)
    return None if match is None else float(match[1]) * _METRIC_SCALE[match[2]]
