"""The plan of a suite: every experiment once a round, in an order that is shuffled for each round.

Rounds are the blocks of the comparisons: one fresh start of each service. They are shuffled, because a change of the
machine in the course of an hour must not always affect the same experiment. Only the last round is profiled, so that
the figures of the other rounds are of unprofiled services.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from lab.experiment import Catalogue
from lab.series import PlannedRun
from lab.suite.declaration import Case, overrides_of


def plan_rounds(
    catalogue: Catalogue,
    cases: Sequence[Case],
    rounds: int,
    given: Mapping[str, str],
    *,
    seed: int,
    times: Mapping[str, Mapping[str, str]],
    scales: Mapping[str, str] | None = None,
) -> list[PlannedRun]:
    """Return the runs in their order.

    `given` are the overrides of all. For an experiment, `times` has those from its baseline, and `scales` has the
    factor of its declared rate, as a word.
    """
    shuffler = random.Random(seed)
    planned = []
    for number in range(1, rounds + 1):
        order = list(cases)
        shuffler.shuffle(order)
        for case in order:
            common = {**times.get(case.experiment, {}), **given}
            overrides = overrides_of(case, common, (scales or {}).get(case.experiment))
            experiment = catalogue.read(case.experiment)
            if experiment.repeat != 1:
                overrides["repeat"] = "1"  # a round is a repetition
            if number < rounds and experiment.profile is not None:
                overrides["profile"] = "off"
            planned.append(PlannedRun(experiment=case.experiment, overrides=overrides, label=str(case), round=number))
    return planned
