"""Runs a sweep: an ordinary run at each of its rates, and one page over all of them, in results/sweep/<id>/."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console

from lab.errors import LabError
from lab.experiment import Experiment
from lab.experiment.rate import AUTO
from lab.rates.page import write_sweep_page
from lab.series import Answer, Place, PlannedRun, Series, find_to_resume, make_answer

KIND = "sweep"


def run_sweep(
    place: Place, name: str, experiment: Experiment, words: Mapping[str, str], console: Console, *, resume: bool
) -> None:
    """Run each rate and write the page, even if some rates failed. Raises RunError for these, after the others."""
    results = place.checkout.results
    request = {"overrides": dict(words), "rates": list(experiment.sweep_per_s), "runtime": place.runtime}
    answer = find_to_resume(place, KIND, name, request, console) if resume else None
    if answer is None:
        plan = [PlannedRun(experiment=name, overrides=point_words(words, rate)) for rate in experiment.sweep_per_s]
        answer = make_answer(results, KIND, name, request, plan, seed=0)
    try:
        with Series(place, answer, console) as series:
            series.execute()
        answer.state = "complete"
    finally:
        _write_page(place, answer, experiment, console)
    answer.write(results)  # after the page, so that a complete sweep has one


def point_words(words: Mapping[str, str], rate_per_s: int) -> dict[str, str]:
    """Return the settings of one point: its declared rate, and RATE=auto as the scale that it means for a point."""
    scale = {"scale": "auto"} if words.get("rate", "").strip().lower() == AUTO else {}
    return {**words, **scale, "rate": str(rate_per_s)}


def _write_page(place: Place, answer: Answer, experiment: Experiment, console: Console) -> None:
    if any(planned.run is not None for planned in answer.runs):
        try:
            page = write_sweep_page(place.checkout.results, answer, experiment)
        except LabError as error:
            console.print(f"no page: {error.message}", highlight=False, soft_wrap=True)
            return
        console.print(f"page: {page}", soft_wrap=True, highlight=False)
