"""Judges the blocks of a comparison, and withdraws the verdict if the checks of its sides failed."""

from __future__ import annotations

from collections.abc import Sequence

from lab.compare.design import Design
from lab.compare.judging import Question, judge_blocks, withdrawn
from lab.compare.measurement import measured
from lab.compare.plan import RunningSide, names_of
from lab.compare.record import Block, Result
from lab.manifest import Check

TELLING_CHECKS = frozenset({"errors", "generator's error", "schedule", "outputs"})
"""Checks of a side that the reader of a comparison must know if they fail; those of the environment come on top."""


def judge(design: Design, sides: Sequence[RunningSide], blocks: Sequence[Block]) -> list[Result]:
    """Judge the blocks: each side but the first, against the first."""
    measured_of = [
        [
            measured(
                side.state.directory,
                [window for window in block.windows if window.side == side.letter],
                float(side.state.plan.experiment.load.rate_per_s),
            )
            for block in blocks
        ]
        for side in sides
    ]
    question, (name, *names) = Question(design.within, design.metric), names_of([side.side for side in sides])
    baseline, *others = measured_of
    return [judge_blocks(baseline, other, question, (name, its)) for other, its in zip(others, names, strict=True)]


def with_environment(
    result: Result, pair: tuple[RunningSide, RunningSide], blocks: Sequence[Block], *, force: bool
) -> Result:
    """Add the results of both sides' checks; the verdict is withdrawn if the machine was not fit to measure.

    With `force` it stands, and the result says why it would have been withdrawn.
    """
    cautions = list(result.cautions)
    unfit: list[str] = []
    for side in pair:
        validity = side.state.artifacts.manifest.validity
        if validity is None:
            continue
        unfit += [f"{side.letter.upper()}: {detail}" for detail in validity.unfit]
        telling = [check.detail for check in validity.checks if _is_telling(check)]
        cautions += [f"{side.letter.upper()}: {_shortened(detail)}" for detail in telling]
    windows = [window for block in blocks for window in block.windows]
    length_s = sum((window.end - window.start).total_seconds() for window in windows)
    known = [window.idle_cpu_s for window in windows if window.idle_cpu_s is not None]
    idle_share = sum(known) / length_s if known and len(known) == len(windows) and length_s else None
    result = result.model_copy(update={"cautions": cautions, "idle_cpu_share": idle_share})
    return unfit_result(result, unfit, force=force)


def unfit_result(result: Result, unfit: Sequence[str], *, force: bool) -> Result:
    """Return what is left of a result if the machine was not fit to measure, for the reasons `unfit`."""
    if not unfit:
        return result
    if force:
        return result.model_copy(update={"forced": list(unfit)})
    return withdrawn(result, "the machine was not fit to measure: " + "; ".join(unfit))


def _shortened(detail: str) -> str:
    """Return the result of a check for the first window that it mentions; the side's own page has the others."""
    first, *more = detail.split("; ")
    return first + (f", and {len(more)} more, listed in its report" if more else "")


def _is_telling(check: Check) -> bool:
    if check.environment:
        return check.outcome == "warn"  # if it failed, the verdict is withdrawn
    return check.outcome in ("warn", "fail") and check.name in TELLING_CHECKS
