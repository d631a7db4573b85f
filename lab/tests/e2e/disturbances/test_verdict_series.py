"""The verdict on series of real runs: quiet ones are valid, ones with a hog on the service's CPU are not.

They need two CPUs and a machine that is quiet otherwise, and take 16 minutes: `make torture-verdict`. A line is printed
for each run, and the count of each series, whether or not it is the one that is wanted.

On a virtual machine the hypervisor may take CPU time, which nothing here prevents. A run during which it took over 1%
of either CPU is no quiet one: it is printed, not counted, and repeated, whatever its verdict.
"""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from ..conftest import CHECKOUT
from .disturbing import QUIET_STEAL_MAX, SERVICE_CPU, NoRunError, hog, run_with

RUNS = int(os.environ.get("VERDICT_RUNS", "10"))
HOG_S = 3.0
SETTINGS = {
    "NAME": "sync-get",
    "RATE": "20000",
    "DURATION": "20s",
    "PROFILE": "off",
    "RUNTIME": "local",
}

pytestmark = [
    pytest.mark.torture,
    pytest.mark.timeout(RUNS * 300),
    pytest.mark.skipif(os.cpu_count() != 2, reason="the CPU plan of these tests is that of two CPUs"),
]


def say(line: str) -> None:
    print(line, flush=True)


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout.strip()


def series(name: str, plant: Callable[[Path], None], steal_max: float = 1.0) -> Counter[str]:
    """Make the runs, print a line for each and the counts; return them by verdict and by check that warned.

    Runs with a larger share of steal than `steal_max` are repeated, RUNS times at most.
    """
    changed = "with uncommitted changes" if git("status", "--porcelain") else "nothing changed"
    say(f"\n{name}: {RUNS} runs of make experiment {' '.join(f'{k}={v}' for k, v in SETTINGS.items())}")
    say(f"commit {git('rev-parse', '--short', 'HEAD')}, {changed}")
    counts: Counter[str] = Counter()
    number = 0
    while number < RUNS:
        try:
            judged = run_with(plant, SETTINGS)
        except NoRunError as error:
            number += 1
            counts["failed"] += 1
            say(f"{name} {number:2}/{RUNS}: failed: {error}")
            continue
        reasons = f"{judged.run.name} {judged.state}: {'; '.join(judged.reasons) or 'no reason'}"
        if judged.stolen > steal_max and counts["not quiet"] < RUNS:
            counts["not quiet"] += 1
            say(f"{name}, not counted, steal of {judged.stolen:.1%} of a CPU: {reasons}")
            continue
        number += 1
        counts[judged.state] += 1
        counts.update(judged.warned())
        say(f"{name} {number:2}/{RUNS}, steal of {judged.stolen:.1%} of a CPU: {reasons}")
        say(f"  {judged.checks['other processes']['detail']}")
    say(f"{name}: {counts['valid']} of {RUNS} valid; {', '.join(f'{k} {n}' for k, n in sorted(counts.items()))}")
    return counts


def test_quiet_runs_are_valid_nine_times_of_ten() -> None:
    counts = series("quiet", lambda run: None, QUIET_STEAL_MAX)
    assert counts["valid"] >= 0.9 * RUNS, f"at least nine of ten were to be valid: {counts}"


def test_runs_with_a_hog_of_three_seconds_are_never_valid() -> None:
    counts = series("hog", lambda run: hog(SERVICE_CPU, HOG_S))
    assert counts["failed"] == counts["valid"] == 0, f"none was to be valid: {counts}"
    assert counts["other load"] == RUNS, f"the reason was to be the hog: {counts}"
