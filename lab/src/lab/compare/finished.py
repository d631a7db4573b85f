"""Compares finished runs: two run directories show differences, but seldom allow a verdict.

They ran one after the other, so the machine's drift between them is part of the difference, and one start of each may
be a matter of luck. With at least six repetitions on each side the starts are judged, not in pairs (Welch).
"""

from __future__ import annotations

import os
from pathlib import Path

from lab.compare.conclusion import unfit_result
from lab.compare.design import Design
from lab.compare.judging import Question, change_of, in_words, judge_blocks, withdrawn
from lab.compare.measurement import METRICS, Measured, of_run
from lab.compare.plan import calibrated_differences
from lab.compare.record import ComparisonRecord, DesignRecord, Result, SideRecord
from lab.compare.sides import differences
from lab.errors import InputError
from lab.machine.fingerprint import OF_THE_SOURCES, Difference
from lab.machine.fingerprint import differences as environment_differences
from lab.manifest import Manifest
from lab.paths import Checkout
from lab.run.directory import MANIFEST, make_run_directory
from lab.statistics import BLOCKS_MIN

EXPECTED = frozenset({"dataset.hash", "dataset.name", "git.diff_hash"})
"""Facts that differ because the experiments do, or that the commit implies already."""
OF_JVM_FLAGS = frozenset({"jvm_flags", "gc"})
"""Facts that differ because the experiments declare different flags (`service.jvm`)."""
ENVIRONMENT_SHOWN_MAX = 6


def compare_finished(checkout: Checkout, a: Path, b: Path, design: Design) -> tuple[ComparisonRecord, Path]:
    """Compare two run directories into a new directory below results/compare. Returns the record and the directory.

    The verdict is withdrawn if a run's environment was not fit to measure, or if the environments are unlike, unless
    the design forces it. Raises InputError for a run that is not complete, or for one run on both sides.
    """
    if a == b:
        raise InputError(f"A and B are one run: {a}")
    runs = tuple(_read(path) for path in (a, b))
    names = _names(runs[0], runs[1])
    measured = tuple(_repetitions(path, manifest) for path, manifest in zip((a, b), runs, strict=True))
    question = Question(design.within, design.metric, in_pairs=False)
    result = _judged(measured[0], measured[1], question, names)
    cautions = ["these runs were made one after the other: a drift of the machine is part of their difference"]
    differ = unequal_facts(runs[0], runs[1])
    if unlike := _some([str(d) for d in differ if OF_THE_SOURCES.match(d.name) is None]):
        reason = f"the runs are of unlike environments: {'; '.join(unlike)}"
        if design.force:
            cautions.insert(0, f"FORCE=1: {reason}")
        else:
            result = withdrawn(result, reason)
    unfit = [
        f"{letter}: {detail}"
        for letter, run in zip(("A", "B"), runs, strict=True)
        for detail in (run.validity.unfit if run.validity is not None else [])
    ]
    result = unfit_result(result, unfit, force=design.force)
    cautions += [f"the environments differ: {line}" for line in _some([str(d) for d in differ])]
    result = result.model_copy(update={"cautions": [*cautions, *result.cautions]})
    directory = make_run_directory(checkout.results, "compare")
    declared = differences(runs[0].experiment.resolved, runs[1].experiment.resolved)
    record = ComparisonRecord(
        id=directory.name,
        how="finished runs",
        state="complete",
        runtime=runs[1].runtime,
        sides=[_side(run, path, directory) for run, path in zip(runs, (a, b), strict=True)],
        compared=list(declared.compared),
        besides=list(declared.besides),
        design=DesignRecord(
            blocks=min(map(len, measured)),
            within=design.within,
            metric=design.metric,
            calibration=calibrated_differences(checkout),
        ),
        phases=[],
        results=[result],
    )
    return record, directory


def unequal_facts(a: Manifest, b: Manifest) -> list[Difference]:
    """Return the facts of their environments in which two runs differ, without those that their experiments imply."""
    same_flags = a.experiment.resolved.service.jvm == b.experiment.resolved.service.jvm
    ignored = EXPECTED if same_flags else EXPECTED | OF_JVM_FLAGS
    found = environment_differences(a.environment, b.environment, ignored)
    return found if a.runtime == b.runtime else [Difference("runtime", a.runtime, b.runtime), *found]


def _some(lines: list[str]) -> list[str]:
    """Return the first lines, and how many there are besides."""
    more = len(lines) - ENVIRONMENT_SHOWN_MAX
    return [*lines[:ENVIRONMENT_SHOWN_MAX], f"{more} more"] if more > 0 else lines


def _judged(a: list[Measured], b: list[Measured], question: Question, names: tuple[str, str]) -> Result:
    result = judge_blocks(a, b, question, names)
    few = min(len(a), len(b))
    if few >= BLOCKS_MIN:
        return result
    starts = "one start of the service each" if few == 1 else f"{few} starts of the service on one side"
    reason = (
        f"these runs have {starts}, and starts differ by luck: at least {BLOCKS_MIN} repetitions a side are needed "
        f"(make experiment … REPEAT={BLOCKS_MIN}, or make compare with the experiments' names)"
    )
    shown = question.metric or "p99"
    metric = next(metric for metric in METRICS if metric.name == shown)
    value_a, value_b = (metric.value(Measured.together(side)) for side in (a, b))
    if value_a and value_b:
        reason += (
            f". Measured: {metric.title} {in_words(metric.unit, value_a)} against {in_words(metric.unit, value_b)}, "
            f"{change_of(value_b / value_a)}"
        )
    return withdrawn(result, reason)


def _read(path: Path) -> Manifest:
    manifest = Manifest.read(path / MANIFEST)
    if not manifest.complete:
        raise InputError(f"{path}: this run is incomplete, and an incomplete run is never compared")
    return manifest


def _repetitions(path: Path, manifest: Manifest) -> list[Measured]:
    found = of_run(path, manifest)
    if not found:
        raise InputError(f"{path}: nothing was measured in this run")
    return found


def _names(a: Manifest, b: Manifest) -> tuple[str, str]:
    return f"{a.experiment.name}/{a.run_id}", f"{b.experiment.name}/{b.run_id}"


def _side(manifest: Manifest, path: Path, directory: Path) -> SideRecord:
    return SideRecord(
        label=f"{manifest.experiment.name}/{manifest.run_id}",
        name=manifest.experiment.name,
        title=manifest.experiment.title,
        overrides=dict(manifest.experiment.overrides),
        directory=os.path.relpath(path, directory),
    )
