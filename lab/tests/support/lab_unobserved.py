"""The lab, started as `python -m lab`, but without evidence about this machine while fakes are measured.

The figures of the fakes do not depend on it, so neither may the verdicts: a busy machine would withdraw a comparison
and make the steps of a search again. With `FAKE_STEAL`, the hypervisor takes that much of each CPU for two minutes.
There are 32 GiB of free memory, or `FAKE_AVAILABLE_BYTES`.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from pathlib import Path

from lab.cli import main
from lab.cpu_plan import CpuPlan
from lab.machine import host
from lab.machine.audit import MachineAudit


def write_rows(_: MachineAudit, file: Path, plan: CpuPlan) -> None:
    """Write the evidence of a machine that nobody watched, or whose time is stolen."""
    columns, rows = ["time_s", "interval_s"], []
    if steal := os.environ.get("FAKE_STEAL"):
        interval_s, stolen_s = 0.1, 0.1 * float(steal)
        cpus = sorted({*plan.service, *plan.loadgen})
        columns += [f"cpu{cpu}_steal_s" for cpu in cpus]
        begin = time.time()
        rows = [[begin + i * interval_s, interval_s, *(stolen_s for _ in cpus)] for i in range(1200)]
    file.write_text("".join(",".join(map(str, row)) + "\n" for row in [columns, *rows]))


def free_memory() -> dict[str, int]:
    """Return the memory of a machine that has enough, or as much as the test says."""
    return {"total": 64 * 2**30, "available": int(os.environ.get("FAKE_AVAILABLE_BYTES", str(32 * 2**30)))}


def run() -> None:
    """Run the lab, and end as an interpreter does, but without taking apart all modules: most labs take less time."""
    code = 0
    try:
        main()
    except SystemExit as ended:
        code = int(ended.code or 0)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    os._exit(code)


MachineAudit.start = write_rows  # type: ignore[method-assign]
host.memory_bytes = free_memory
if __name__ == "__main__":
    run()
