"""Statistics of comparisons, as pure functions: intervals, equivalence, corrections, sizes. docs/compare.md says why.

The sample is the block: one fresh start of each side. Its value is the logarithm of the ratio B ÷ A of a figure, so
that 0 means equal and a ratio and its inverse have the same distance from it. Nothing here knows windows, requests or
runs.
"""

from lab.statistics.design import ALPHA, detectable, detectable_difference
from lab.statistics.difference import Difference, Estimate, equivalence_p, estimate, independent, paired
from lab.statistics.several import holm
from lab.statistics.verdict import BLOCKS_MIN, Judgement, Verdict, judge, judge_amount, judge_together

__all__ = [
    "ALPHA",
    "BLOCKS_MIN",
    "Difference",
    "Estimate",
    "Judgement",
    "Verdict",
    "detectable",
    "detectable_difference",
    "equivalence_p",
    "estimate",
    "holm",
    "independent",
    "judge",
    "judge_amount",
    "judge_together",
    "paired",
]
