"""Tests of what a run shows while it lasts."""

from __future__ import annotations

import io
import os
import threading

import pytest
from rich.console import Console

from lab.run.show import Show

LIMIT_S = 60.0


@pytest.mark.skipif(not hasattr(os, "sched_getscheduler"), reason="scheduling classes are Linux's")
def test_the_live_line_is_drawn_by_a_thread_that_yields_to_the_load() -> None:
    drawn = threading.Event()
    classes: dict[bool, int] = {}

    def status() -> str:
        of_main = threading.current_thread() is threading.main_thread()
        classes[of_main] = os.sched_getscheduler(0)
        if not of_main:
            drawn.set()
        return "12 requests"

    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    show = Show(console)
    before = os.sched_getscheduler(0)
    show.begin("measure 1", expected_s=10.0, status=status)
    try:
        assert drawn.wait(LIMIT_S)
    finally:
        show.end("ok")
    assert classes[False] == os.SCHED_IDLE
    assert os.sched_getscheduler(0) == before == classes.get(True, before), "the main thread keeps its class"
    assert "12 requests" in console.file.getvalue()  # type: ignore[attr-defined]
