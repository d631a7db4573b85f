"""From the difference between two sides to one of four words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from lab.statistics.design import ALPHA
from lab.statistics.difference import Difference, Estimate, equivalence_p, estimate

Verdict = Literal["better", "worse", "same", "cannot tell"]
BLOCKS_MIN = 6
"""With fewer blocks not even a permutation test, which assumes nothing, can reach p = 0.05: 2 ÷ 2⁵ = 0.0625."""


@dataclass(frozen=True)
class Judgement:
    """The verdict on B against A, the log ratio that it rests on, and the p-value of "they differ by more than X"."""

    verdict: Verdict
    log_ratio: Estimate
    equivalence_p: float


def judge(difference: Difference, within: float, *, lower_is_better: bool = True, alpha: float = ALPHA) -> Judgement:
    """Judge a difference of log ratios B ÷ A.

    `within` is the share up to which a difference does not matter: 0.05 means a ratio from 1 ÷ 1.05 to 1.05. *Same* is
    tested first. So a difference that is certain and too small to matter is *same*. Then *better* or *worse* if the
    t-test's p-value is at most `alpha`. With fewer than `BLOCKS_MIN` blocks the verdict is *cannot tell*.
    """
    log_ratio = estimate(difference, 1 - alpha)
    p_same = equivalence_p(difference, math.log1p(within))
    verdict: Verdict = "cannot tell"
    if difference.count >= BLOCKS_MIN:
        if p_same <= alpha:
            verdict = "same"
        elif log_ratio.p_value <= alpha:
            verdict = "better" if (log_ratio.mean < 0) == lower_is_better else "worse"
    return Judgement(verdict, log_ratio, p_same)
