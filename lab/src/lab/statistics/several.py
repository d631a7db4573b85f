"""Several metrics of one comparison: p-values corrected so that they may be read together."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected by S. Holm's step-down procedure (Scandinavian Journal of Statistics 6, 1979).

    If each corrected value at most α is called a finding, one or more false findings occur with probability at most α,
    however the metrics depend on each other. scipy offers only corrections of the false discovery rate.
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        corrected[i] = largest
    return corrected
