"""The lab, started as `python -m lab`, but blind to what else goes on on this machine while fakes are measured.

The figures of the fakes do not depend on it, so neither may the verdicts: a busy machine would withdraw a comparison
and make the steps of a search again.
"""

from __future__ import annotations

from pathlib import Path

from lab.cli import main
from lab.cpu_plan import CpuPlan
from lab.machine.audit import MachineAudit


def write_no_rows(_: MachineAudit, file: Path, __: CpuPlan) -> None:
    """Write the evidence of a machine that nobody watched."""
    file.write_text("time_s,interval_s\n")


MachineAudit.start = write_no_rows  # type: ignore[method-assign]
main()
