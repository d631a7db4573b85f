"""Executes blocks: in each all services are started afresh and stay alive, and windows of load alternate."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from lab.compare.plan import ComparePlan, RunningSide
from lab.compare.record import Block, Window
from lab.experiment import tenant
from lab.machine.host import process_cpu_s
from lab.prometheus import scrape
from lab.run.collect import profile_spec
from lab.run.session import PROFILE_MARGIN_S
from lab.runtime.base import ProfileSpec
from lab.units import duration_word

CPU, ALLOCATED, REQUESTS = "process_cpu_seconds_total", "jvm_allocated_bytes_total", tenant.metric("requests_total")
GC = ("jvm_gc_collection_seconds_sum", "jvm_gc_seconds_total")
"""The service's own counters; those of requests and of collections have labels."""
SWITCHES = "context switches"
"""The kernel's counter of the service's threads."""


class Blocks:
    """Executes the blocks of one comparison, and its profiles."""

    def __init__(self, plan: ComparePlan, sides: Mapping[str, RunningSide]) -> None:
        self._plan = plan
        self._sides = sides

    def execute(self, number: int, order: str) -> Block:
        """Start all sides afresh and measure their windows; `number` counts from 1."""
        self._stop_services()
        started: list[RunningSide] = []
        for side in (self._sides[letter] for letter in order):
            with spinning_stopped(started):
                side.session.prepare(side.repetition(number, 1))
            side.state.scrape_service(on=False)
            started.append(side)
        for side in started:
            side.state.stand_beside(other.state.service for other in self._others(side))
        windows = self._sides["a"].windows
        done = [self._window(self._sides[letter], number, window) for letter, window in windows.sequence(order)]
        return Block(number=number, order=order, windows=done)

    def profile(self) -> None:
        """Profile each side once more, on a service of its own and alone, at the same rate."""
        self._stop_services()
        for side in self._sides.values():
            spec = profile_spec(side.state)
            if spec is None:
                continue
            # The recording takes one side's whole duration: the windows of a block together.
            load = side.side.experiment.load
            repetition = replace(
                side.repetition(1, 1),
                experiment=side.state.plan.experiment.model_copy(update={"load": load}),
                number=None,
                profile=spec,
                label=side.letter.upper(),
            )
            side.session.prepare(repetition)
            side.session.profile(repetition, spec)
            side.session.stop_service()

    def _stop_services(self) -> None:
        for side in self._sides.values():
            side.session.stop_service()

    def _others(self, side: RunningSide) -> list[RunningSide]:
        return [one for one in self._sides.values() if one is not side]

    def _window(self, side: RunningSide, block: int, window: int) -> Window:
        """Measure one window; the services' own counters are read before and after it, never during it."""
        others = self._others(side)
        repetition = side.repetition(block, window)
        for one in self._sides.values():
            one.session.quiesce()  # what a side still writes would use the CPUs of this window
        with self._recording(side, repetition.experiment.load.duration_s + PROFILE_MARGIN_S):
            before, idle_before = _used(side), [_used(other) for other in others]
            with spinning_stopped(others):
                start = datetime.now(UTC)
                side.session.measure(repetition)
                end = datetime.now(UTC)
            after, idle_after = _used(side), [_used(other) for other in others]
        idle = [_increase(one, later, CPU) for one, later in zip(idle_before, idle_after, strict=True)]
        idle_cpu_s = [one for one in idle if one is not None]
        return Window(
            side=side.letter,
            source=repetition.out.relative_to(side.state.directory).as_posix(),
            start=start,
            end=end,
            service_cpu_s=_increase(before, after, CPU),
            idle_cpu_s=sum(idle_cpu_s) if len(idle_cpu_s) == len(others) else None,
            allocated_bytes=_increase(before, after, ALLOCATED),
            service_requests=_increase(before, after, REQUESTS),
            context_switches=_increase(before, after, SWITCHES),
            gc_s=next((gc_s for name in GC if (gc_s := _increase(before, after, name)) is not None), None),
        )

    @contextlib.contextmanager
    def _recording(self, side: RunningSide, limit_s: float) -> Iterator[None]:
        """Profile a side but the first during a window, if that is compared; the recording itself is deleted."""
        settings = self._plan.recorded
        if settings is None or side.letter == "a":
            yield
            return
        out = side.state.directory / "recording"
        out.mkdir()
        interval, cpus = duration_word(settings.interval_s), self._plan.cpus.other
        spec = ProfileSpec(out, settings.events, interval, title=side.side.label, cpus=cpus, depth=settings.depth)
        self._plan.runtime.profiler.start(spec, side.state.service, limit_s)
        try:
            yield
            self._plan.runtime.profiler.stop(spec, side.state.service)
        finally:
            shutil.rmtree(out)


@contextlib.contextmanager
def spinning_stopped(others: Sequence[RunningSide]) -> Iterator[None]:
    """Stop those of the services whose idle workers keep a CPU busy, and let them go on at the end.

    A service whose process cannot be stopped goes on: its CPU time is recorded.
    """
    spinning = [one for one in others if one.state.plan.experiment.service.parameter("idle") in ("spin", "yield")]
    pids = [pid for one in spinning if (pid := one.state.service.pid) is not None]
    try:
        for pid in pids:
            _signal(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in pids:
            _signal(pid, signal.SIGCONT)


def _signal(pid: int, what: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # it has ended; it is another user's, in a container
        os.kill(pid, what)


def _used(side: RunningSide) -> dict[str, float]:
    """Return the service's counters by name, each the sum of its series; those that it does not report are left out."""
    service = side.state.service
    used: dict[str, float] = {}
    for series, value in ({} if service.metrics_url is None else scrape(service.metrics_url)).items():
        name = series.partition("{")[0]
        used[name] = used.get(name, 0.0) + value
    if service.pid is not None and (cpu_s := process_cpu_s(service.pid)) is not None:
        used.setdefault(CPU, cpu_s)
    switches = None if service.pid is None else context_switches(service.pid)
    return used if switches is None else {**used, SWITCHES: switches}


def context_switches(pid: int) -> float | None:
    """Return the context switches of a process's threads so far; None if they cannot be read."""
    found: list[int] = []
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        with contextlib.suppress(OSError):  # a thread that ends meanwhile
            found += map(
                int, re.findall(r"^(?:non)?voluntary_ctxt_switches:\s*(\d+)", status.read_text(), re.MULTILINE)
            )
    return float(sum(found)) if found else None


def _increase(before: dict[str, float], after: dict[str, float], counter: str) -> float | None:
    """Return by how much a counter grew. A counter of requests may have no series before the first one."""
    if counter not in after or (counter not in before and (counter != REQUESTS or not before)):
        return None
    return max(0.0, after[counter] - before.get(counter, 0.0))
