"""Runs a search: bounds, steps, the answer with its page, all in results/search/<id>/."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from lab.calibration import read_calibration
from lab.errors import InputError
from lab.report import numbers
from lab.search.page import write_search_page
from lab.search.procedure import Answer as SearchAnswer
from lab.search.procedure import Bounds, search
from lab.search.steps import Step, Steps, Subject, lowest_rate
from lab.series import Answer, Place, Series, find_to_resume, make_answer

KIND = "search"
SENDABLE_PER_S = 1_000_000
"""The highest rate that is tried without a calibration; the load generator reports in each step if it keeps up."""
START_SHARE = 1 / 8
"""The search starts at this share of the declared rate, or at half of the saturation if that is known."""


def run_search(place: Place, subject: Subject, console: Console, *, resume: bool) -> SearchAnswer:
    """Search for the highest rate that holds the limit; return it and leave record.json and the page.

    Raises RunError if a step failed, InputError for what cannot be searched. Nothing was started then.
    """
    results = place.checkout.results
    request = {"slo": str(subject.slo), "overrides": dict(subject.words), "runtime": place.runtime}
    answer = find_to_resume(place, KIND, subject.name, request, console) if resume else None
    bounds = Bounds(**answer.result["bounds"]) if answer is not None else bounds_of(place, subject)  # type: ignore[arg-type]
    if answer is None:
        answer = make_answer(results, KIND, subject.name, request, [], seed=0)
        answer.result["bounds"] = asdict(bounds)
        answer.write(results)
    console.print(
        f"highest rate of {subject.name} with {subject.slo}: from {bounds.start_per_s:,}/s, "
        f"at most {bounds.highest_per_s:,}/s",
        highlight=False,
    )
    with Series(place, answer, console) as series:
        steps = Steps(series, results, subject, console)
        try:
            found = search(steps.probe, bounds)
        finally:
            answer.result["steps"] = [step.model_dump(mode="json") for step in steps.made]
            answer.write(results)
    told = sentence(found, subject, steps.made)
    _finish(answer, found, told)
    answer.write(results)
    page = write_search_page(results, answer, subject.experiment)
    console.print(Text(f"{subject.name}: {told}", style="bold"), soft_wrap=True)
    console.print(f"page: {page}", soft_wrap=True, highlight=False)
    return found


def bounds_of(place: Place, subject: Subject) -> Bounds:
    """Return where to search. InputError if no possible rate has enough requests for the percentile."""
    calibration = read_calibration(place.checkout)
    ceiling = None if calibration is None else calibration.ceiling_per_s
    highest = SENDABLE_PER_S if ceiling is None else int(ceiling)
    lowest = lowest_rate(subject.slo, subject.words, subject.experiment)
    if lowest * 2 > highest:
        raise InputError(
            f"SLO={subject.slo}: a step has too few requests for that percentile, even at {highest:,}/s",
            "Name a lower percentile, or a longer DURATION",
        )
    experiment = subject.experiment
    declared = max(experiment.sweep_per_s or (experiment.load.rate_per_s,))
    capacity = place.capacities.find(experiment)
    start = declared * START_SHARE if capacity is None else capacity.per_s / 2
    return Bounds(min(max(round(start), lowest), highest), lowest, highest)


def sentence(found: SearchAnswer, subject: Subject, steps: Sequence[Step]) -> str:
    """Return the answer in a sentence, and if there is none, the reason; `steps` are all that were made."""
    count = f"{len(found.outcomes)} steps"
    if found.rate_per_s is None:
        why = next((step.why for step in reversed(steps) if step.holds == "unknown"), "nothing was measured")
        fails = (
            "" if found.high_per_s is None else f"it does not hold at {numbers.rate(round(found.high_per_s))}/s, and "
        )
        lowest = numbers.rate(min(step.rate_per_s for step in found.outcomes))
        return f"No answer: {fails}down to {lowest}/s no step can tell if {subject.slo} holds: {why}; {count}."
    rate = numbers.rate(round(found.rate_per_s))
    if found.ended == "lower bound":
        as_much = f"up to {rate}/s, which is as much as can be sent"
        return f"{subject.slo} was never breached, {as_much}: a lower bound."
    if found.ended == "upper bound":
        return f"{subject.slo} does not even hold at {rate}/s, the lowest rate that can tell; {count}."
    if found.high_per_s is None:
        return f"{subject.slo} holds at {rate}/s, but the steps ran out before it was breached: a lower bound; {count}."
    low, high = (numbers.rate(round(bound)) for bound in (found.low_per_s or 0, found.high_per_s))
    interval = f"90% interval {low} to {high}/s, {count}"
    if found.ended == "undecided":
        return f"{subject.slo} holds up to about {rate}/s, but the steps ran out: {interval}."
    return f"{subject.slo} holds up to {rate}/s ({interval})."


def _finish(answer: Answer, found: SearchAnswer, told: str) -> None:
    answer.state = "complete"
    answer.result |= {
        "ended": found.ended,
        "rate_per_s": found.rate_per_s,
        "low_per_s": found.low_per_s,
        "high_per_s": found.high_per_s,
        "sentence": told,
    }
