"""Compactions planted into the profiled repetition of a run, at known seconds, with priority over the requests.

A compaction yields its CPU to requests and hardly shows in their latency; with priority it holds them up for certain.
Raising it needs root.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from lab.http import fetch

BEGINNINGS_S = (8.0, 20.0, 32.0)
"""Seconds after the profiled repetition began."""
WARMING = 4
"""Compactions before the recording, so that their code is compiled."""
NICE = -10
THREAD = "lsmlab-compact"
LIMIT_S = 60.0

T = TypeVar("T")

_READY = re.compile(r"^ready data=(\S+) admin=(\S+)$", re.MULTILINE)


@dataclass
class Planted:
    """The start and the end of each compaction, in milliseconds since the epoch; filled while the run lasts."""

    spans_ms: list[tuple[float, float]] = field(default_factory=list)


@contextmanager
def compactions(experiment: Path) -> Iterator[Planted]:
    """Plant compactions into the next run in this directory of results; an error is raised at the end."""
    over, planted = threading.Event(), Planted()
    with ThreadPoolExecutor(1) as pool:
        planting = pool.submit(_plant, experiment, planted, over)
        try:
            yield planted
        finally:
            over.set()
        planting.result()


def _plant(experiment: Path, planted: Planted, over: threading.Event) -> None:
    run, data, admin = _await(lambda: _profiled_service(experiment), over)
    for _ in range(WARMING):
        compact_all(data, admin)
    os.setpriority(os.PRIO_PROCESS, _thread(json.loads(fetch(f"{admin}/config", LIMIT_S))["pid"]), NICE)
    _await((run / "profile").is_dir, over)
    began_s = time.monotonic()
    for beginning_s in BEGINNINGS_S:
        if over.wait(began_s + beginning_s - time.monotonic()):
            raise AssertionError(f"the run ended before second {beginning_s:.0f} of its profiled repetition")
        planted.spans_ms.append(compact_all(data, admin))


def _await(condition: Callable[[], T | None], over: threading.Event) -> T:
    while not (found := condition()):
        if over.wait(0.05):
            raise AssertionError("the run ended without a profiled repetition")
    return found


def _profiled_service(experiment: Path) -> tuple[Path, str, str] | None:
    """Return the run and the addresses of its second service: the first is measured without the profiler."""
    for log in experiment.glob("*Z/service.log"):
        starts = addresses(log)
        if len(starts) == 2:
            return log.parent, *starts[1]
    return None


def addresses(log: Path) -> list[tuple[str, str]]:
    """Return the data and the admin address of each start in service.log."""
    return [(f"http://{data}", f"http://{admin}") for data, admin in _READY.findall(log.read_text())]


def compact_all(data: str, admin: str) -> tuple[float, float]:
    """Compact the whole store, which must hold something new for that; return when that began and ended."""
    put = urllib.request.Request(f"{data}/v0/entity?id=planted", data=b"value", method="PUT")
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(put, timeout=LIMIT_S).close()
    fetch(f"{admin}/flush", LIMIT_S, post=True)
    start_s = time.time()
    fetch(f"{admin}/compact", LIMIT_S, post=True)
    return 1e3 * start_s, 1e3 * time.time()


def _thread(pid: int) -> int:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return next(int(task.name) for task in tasks if (task / "comm").read_text() == f"{THREAD}\n")
