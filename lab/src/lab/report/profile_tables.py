"""The tables of profiled code: samples by category and by thread group, and what profiling cost."""

from __future__ import annotations

from typing import Any

from lab.analysis.percentiles import label
from lab.pages.document import EVENT_NAMES, Cell, Row, Table
from lab.report import numbers
from lab.report.data import Category, Event, ReportData

_UNITS = {"bytes": "bytes", "ns": "waiting time"}


def category_table(event: Event) -> Table | None:
    """List samples of an event by category of code."""
    return _share_table(event, event.categories, "categories", "Category")


def group_table(event: Event) -> Table | None:
    """List samples of an event by group of threads."""
    return _share_table(event, event.groups, "groups", "Thread group")


def _share_table(event: Event, shares: list[Category], ident: str, heading: str) -> Table | None:
    if not shares:
        return None
    unit = shares[0].unit
    most = max(part.share for part in shares) or 1.0
    rows: list[Row] = [
        [c.name, Cell(numbers.share_within(c.share, c.bounds), bar=c.share / most), numbers.count(c.samples)]
        for c in shares
    ]
    name = EVENT_NAMES.get(event.name, event.name)
    bounded = any(part.bounds for part in shares)
    return Table(
        f"{ident}-{event.name}",
        f"{name} by {heading.lower()}",
        [heading, f"Share of {_UNITS.get(unit, unit)}", "Samples"],
        rows,
        numeric=(1, 2),
        note="In brackets: 95% confidence interval within this recording." if bounded else "",
    )


def synchronisation(event: Event) -> str | None:
    """Return a sentence about the share of queues and locks in an event; None for an event without categories."""
    if not event.categories:
        return None
    parts = [c for c in event.categories if c.name in {"queue", "lock"}]
    named = " and ".join(f"{c.name} {numbers.share_within(c.share, c.bounds)}" for c in parts)
    name = EVENT_NAMES.get(event.name, event.name)
    together = numbers.share(sum(part.share for part in parts))
    return f"{name}: synchronisation takes {together}{f' ({named})' if parts else ''}."


def profile_table(data: ReportData) -> Table | None:
    """List the number of samples of each event, and how they were taken."""
    if not data.events:
        return None
    rows: list[Row] = [
        [
            EVENT_NAMES.get(e.name, e.name),
            numbers.count(e.samples),
            (", ".join(form or "flame graph" for form in e.pages) or "none"),
        ]
        for e in data.events
    ]
    engine = data.profile.get("engine") or data.manifest.environment.profiling_engine
    interval = data.profile.get("interval_had_us") or data.profile.get("interval_us")
    how = [f"CPU engine {engine}" if engine else "CPU engine unknown"]
    kernel_frames = data.profile.get("kernel_frames")
    how += [f"{'with' if kernel_frames else 'without'} kernel frames"] if isinstance(kernel_frames, bool) else []
    how += [f"interval {interval:,g} µs"] if isinstance(interval, int | float) else []
    version = data.profile.get("async_profiler")
    how += [f"async-profiler {version}"] if isinstance(version, str) else []
    return Table(
        "profile-table",
        "Samples by event",
        ["Event", "Samples", "Files"],
        rows,
        numeric=(1,),
        note=" ".join([", ".join(how) + ".", *_quality(data.profile), *filter(None, map(synchronisation, data.events))])
        + _cost_is_unknown(data),
    )


def _cost_is_unknown(data: ReportData) -> str:
    """Return why there is no table of what profiling cost."""
    summary = data.manifest.summary
    if summary is None or summary.profiled is None or summary.profiling_cost is not None:
        return ""
    return (
        " What profiling cost is not known: with one unprofiled repetition it cannot be told from the difference "
        f"between two starts of the service. make profiling-cost NAME={data.manifest.experiment.name} measures it."
    )


def _quality(profile: dict[str, Any]) -> list[str]:
    """Return sentences about how far the recording can be trusted."""
    sentences = []
    used, sampled, lost = profile.get("cpu_s"), profile.get("cpu_sampled_s"), profile.get("samples_lost")
    if isinstance(used, int | float) and isinstance(sampled, int | float):
        sentences.append(f"The samples account for {sampled:.1f} s of the {used:.1f} s of CPU that the service used.")
    if isinstance(lost, int):
        sentences.append(f"{numbers.count(lost)} samples were lost.")
    events = profile.get("events")
    broken = (
        [e["broken"] for e in events.values() if isinstance(e, dict) and isinstance(e.get("broken"), int)]
        if isinstance(events, dict)
        else []
    )
    if broken:
        sentences.append(f"{numbers.count(sum(broken))} stacks are broken.")
    warnings = profile.get("warnings")
    sentences += [f"Warning: {warning}." for warning in warnings] if isinstance(warnings, list) else []
    return sentences


def cost_table(data: ReportData) -> Table | None:
    """Set the profiled repetition beside the others, to show what profiling cost."""
    summary = data.manifest.summary
    if summary is None or summary.profiled is None or summary.profiling_cost is None:
        return None
    cost, before, after = summary.profiling_cost, summary, summary.profiled
    rows: list[Row] = [
        [
            "Achieved rate",
            numbers.rate(before.rate_achieved_per_s),
            numbers.rate(after.rate_achieved_per_s),
            numbers.ratio(cost.rate_achieved_ratio),
        ]
    ]
    rows += [
        [
            f"Latency {label(p)}",
            numbers.percentile(before.headline_ms, p),
            numbers.percentile(after.headline_ms, p),
            numbers.ratio(change),
        ]
        for p, change in cost.latency_ratio.items()
    ]
    if cost.service_cpu_ratio is not None:
        cpu = [m.service_cpu_us_per_request or 0.0 for m in (before, after)]
        rows.append(
            ["Service CPU / request", *(numbers.latency(us / 1e3) for us in cpu), numbers.ratio(cost.service_cpu_ratio)]
        )
    times = len(summary.repetitions)
    spread = None if summary.agreement is None else summary.agreement.latency_spread.get("50")
    apart = "" if spread is None else f", whose p50 has a standard deviation of {numbers.share(spread)}"
    note = f"One profiled repetition against {times} others{apart}: a smaller difference is noise."
    return Table(
        "cost-table",
        "What profiling cost",
        ["", "Unprofiled", "Profiled", "Change"],
        rows,
        numeric=(1, 2, 3),
        note=note,
    )
