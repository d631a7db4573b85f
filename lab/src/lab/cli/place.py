"""The place where a command measures: runtime, CPUs and ports."""

from __future__ import annotations

import os

from lab.cli.output import tell
from lab.cli.runtimes import choose
from lab.cli.settings import Given
from lab.cpu_plan import ELSEWHERE
from lab.machine.cpus import plan_cpus
from lab.paths import find_checkout
from lab.series import Place


def place_of(given: Given, runtime: str | None = None, *, single: bool = False, foreign: bool = False) -> Place:
    """Return where to measure: in this runtime, or in the one that the user chose. `single` as in `choose`.

    A `foreign` service, which is not the lab's own, runs locally by default.
    """
    checkout, ports, monitoring = find_checkout(), given.ports, given.monitoring
    if foreign and not given.get("runtime"):
        runtime = "local"
    chosen = choose(checkout, runtime or given.get("runtime"), tell, single=single)
    name, cpus = chosen.name, plan_cpus(os.environ) if chosen.elsewhere is None else ELSEWHERE
    return Place(
        checkout=checkout,
        make_runtime=lambda: choose(checkout, name, tell, single=single),
        runtime=name,
        cpus=cpus,
        ports=ports,
        monitoring=monitoring,
    )
