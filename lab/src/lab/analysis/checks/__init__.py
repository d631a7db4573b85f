"""The verdict: which checks a run passed, and what follows for its figures. docs/method.md gives the reasons.

Each check is a function from the evidence of a run to a ``Check``. ``note`` informs, ``warn`` makes the run *suspect*,
``fail`` makes it *invalid*, ``unknown`` says that the check was not possible. The list at the end is the order in which
a report shows them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lab.analysis.checks import conditions, generator, load, machine, rate, seconds, steady
from lab.analysis.checks.check_input import CheckInput
from lab.analysis.checks.rate import SATURATED
from lab.analysis.run_files import RunFiles
from lab.kubernetes.cluster import cluster_of
from lab.manifest import Check, Manifest, Validity

__all__ = ["CHECKS", "SATURATED", "judge"]


FINDINGS = (
    SATURATED,
    rate.NOT_AT_EVERY_MOMENT,
    load.REFUSED,
    load.DELAYED_ACK,
    steady.NOT_STEADY,
    generator.UNKNOWN_ERROR,
    machine.BESIDE,
    machine.CHANGED_SOURCE,
)
"""Beginnings of notes that a reader must know although the result is sound."""


def judge(run_dir: Path, manifest: Manifest, files: RunFiles | None = None) -> Validity:
    """Judge the run in ``run_dir``, whose ``manifest`` has its summary. Reads ``timeline.csv`` and ``profile/``.

    ``files`` are its files, if they have been read.
    A manifest without a summary makes the run invalid: nothing was measured.
    """
    if manifest.summary is None:
        detail = _phase_trouble(manifest) or "the load generator left no report"
        check = Check(name="measured", outcome="fail", detail=f"nothing was measured: {detail}")
        return Validity(state="invalid", reasons=[check.detail], checks=[check])
    known = CheckInput(manifest, manifest.summary, conditions.observe(files or RunFiles(run_dir), manifest))
    checks = _checks(known)
    failed = [check.detail for check in checks if check.outcome == "fail"]
    warned = [check.detail for check in checks if check.outcome == "warn"]
    return Validity(
        state="invalid" if failed else "suspect" if warned else "valid",
        reasons=failed + warned,
        findings=[
            check.detail
            for check in checks
            if check.outcome in ("note", "unknown") and check.detail.startswith(FINDINGS)
        ],
        checks=checks,
    )


def _checks(known: CheckInput) -> list[Check]:
    cluster = cluster_of(known.manifest.environment)
    if cluster is None:
        return [check(known) for check in CHECKS]
    of_run = [check(known) for check in CHECKS if check not in OF_THIS_MACHINE]
    return [*of_run, *cluster.checks(known.longest_s)]


def _completed(known: CheckInput) -> Check:
    trouble = _phase_trouble(known.manifest)
    if trouble is None:
        return Check(name="phases", outcome="pass", detail="every phase ended well")
    return Check(name="phases", outcome="fail", detail=trouble)


def _phase_trouble(manifest: Manifest) -> str | None:
    for phase in manifest.phases:
        if phase.outcome in ("failed", "interrupted"):
            number = f" {phase.repetition}" if phase.repetition is not None else ""
            detail = f": {phase.detail}" if phase.detail else ""
            was = "failed" if phase.outcome == "failed" else "was interrupted"
            return f"the phase {phase.name}{number} {was}{detail}"
    return None


def _outputs(known: CheckInput) -> Check:
    problems = [*known.summary.problems, *(known.summary.profiled.problems if known.summary.profiled else [])]
    problems += known.conditions.problems
    if problems:
        return Check(name="outputs", outcome="warn", detail="outputs are damaged: " + "; ".join(problems))
    if known.summary.lacks:
        lacks = ", ".join(known.summary.lacks)
        return Check(name="outputs", outcome="note", detail=f"the load generator does not write {lacks}")
    return Check(name="outputs", outcome="pass", detail="all outputs are there and agree with each other")


OF_THIS_MACHINE: tuple[Callable[[CheckInput], Check], ...] = (
    machine.cpu_plan,
    seconds.cpu_set,
    seconds.foreign_use,
    machine.other_processes,
    seconds.steal,
    seconds.throttling,
    seconds.run_delay,
    seconds.memory,
    seconds.page_cache,
    seconds.foreign_disk,
    machine.clock,
)
"""The checks that look at this machine. In a cluster, the checks of its nodes take their place."""
CHECKS: tuple[Callable[[CheckInput], Check], ...] = (
    _completed,
    _outputs,
    rate.rate,
    load.errors,
    load.refusals,
    load.delayed_ack,
    generator.own_error,
    generator.schedule,
    generator.cpu,
    steady.steady,
    load.samples,
    load.unfinished,
    load.repetitions,
    *OF_THIS_MACHINE,
    machine.background_work,
    machine.loopback,
    machine.native_transport,
    machine.profile_engine,
    machine.profiled_rate,
    machine.source,
)
