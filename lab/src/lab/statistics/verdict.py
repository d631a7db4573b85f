"""From the difference between two sides to one of four words, for one metric or for several together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from lab.statistics.design import ALPHA
from lab.statistics.difference import Difference, Estimate, equivalence_p, estimate
from lab.statistics.several import holm

Verdict = Literal["better", "worse", "same", "cannot tell"]
BLOCKS_MIN = 6
"""With fewer blocks not even a permutation test, which assumes nothing, can reach p = 0.05: 2 ÷ 2⁵ = 0.0625."""


@dataclass(frozen=True)
class Judgement:
    """One difference of B and A with the p-values of "they are equal" and of "they differ by more than X".

    `count` is the number of blocks that the estimate rests on.
    """

    estimate: Estimate
    count: int
    p_value: float
    equivalence_p: float
    lower_is_better: bool = True
    alpha: float = ALPHA

    @property
    def verdict(self) -> Verdict:
        """The verdict on B against A.

        *Same* is tested first. So a difference that is certain and too small to matter is *same*. With fewer than
        `BLOCKS_MIN` blocks the verdict is *cannot tell*.
        """
        if self.count < BLOCKS_MIN:
            return "cannot tell"
        if self.equivalence_p <= self.alpha:
            return "same"
        if self.p_value <= self.alpha:
            return "better" if (self.estimate.mean < 0) == self.lower_is_better else "worse"
        return "cannot tell"


def judge(difference: Difference, within: float, *, lower_is_better: bool = True, alpha: float = ALPHA) -> Judgement:
    """Judge a difference of log ratios B ÷ A as the only one.

    `within` is the share up to which a difference does not matter: 0.05 means a ratio from 1 ÷ 1.05 to 1.05.
    """
    found = estimate(difference, 1 - alpha)
    same = equivalence_p(difference, math.log1p(within))
    return Judgement(found, difference.count, found.p_value, same, lower_is_better, alpha)


def judge_amount(difference: Difference, *, lower_is_better: bool = True, alpha: float = ALPHA) -> Judgement:
    """Judge a difference of amounts that may be 0, so that they have no ratio: *same* if none of them differs."""
    found = estimate(difference, 1 - alpha)
    same = 0.0 if difference.mean == 0 and difference.error == 0 else 1.0
    return Judgement(found, difference.count, found.p_value, same, lower_is_better, alpha)


def judge_together(judgements: Sequence[Judgement]) -> list[Judgement]:
    """Correct judgements that are read together, so that a false one among them is as rare as a single false one."""
    different = holm([one.p_value for one in judgements])
    same = holm([one.equivalence_p for one in judgements])
    return [
        replace(one, p_value=p_value, equivalence_p=p_same)
        for one, p_value, p_same in zip(judgements, different, same, strict=True)
    ]
