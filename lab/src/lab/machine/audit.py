"""The audit of the machine while it measures: starts the sampler and tells it which processes to watch."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from lab.cpu_plan import CpuPlan, cpu_list
from lab.process.interrupts import shielded

PID_POLL_S = 0.02
PID_LIMIT_S = 10.0
NICENESS = 10
END_LIMIT_S = 3.0


class MachineAudit:
    """One run's sampler. `stop()` ends it; if the lab dies, it ends because its standard input does."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def start(self, file: Path, plan: CpuPlan) -> None:
        """Begin to write `file`. Without pinned CPUs there is nothing to watch, and no file."""
        if not plan.service or not plan.loadgen or sys.platform != "linux":
            return
        script = Path(__file__).with_name("sampler.py")
        sets = [cpu_list(cpus) for cpus in (plan.service, plan.loadgen, plan.other)]
        with shielded():
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(script), str(file), *sets],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                process_group=0,  # in the same session, so that niceness counts between its processes
            )

    def watch(self, role: str, pid: int | None) -> None:
        """Watch another process as `service`, `loadgen` or `beside` (sampler.py), or none. Thread-safe."""
        with self._lock, contextlib.suppress(OSError):
            if self._process is not None and self._process.stdin is not None:
                self._process.stdin.write(f"{role} {pid if pid is not None else '-'}\n".encode())
                self._process.stdin.flush()

    def watch_soon(self, role: str, find_pid: Callable[[], int | None], wanted: Callable[[], bool]) -> None:
        """Watch a process as soon as its pid is known, for as long as it is `wanted`; returns at once."""

        def look() -> None:
            os.nice(NICENESS)  # of this thread, on Linux: it runs beside the load
            deadline = time.monotonic() + PID_LIMIT_S
            while wanted() and time.monotonic() < deadline:
                if (pid := find_pid()) is not None:
                    self.watch(role, pid)
                    return
                time.sleep(PID_POLL_S)

        if self._process is not None:
            threading.Thread(target=look, name="audit", daemon=True).start()

    def stop(self) -> None:
        """End the sampler. Idempotent; never raises."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(OSError):
            if process.stdin is not None:
                process.stdin.close()
        try:
            process.wait(END_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
