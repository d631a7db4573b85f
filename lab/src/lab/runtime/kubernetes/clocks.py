"""The clocks of pods against this machine's."""

from __future__ import annotations

import contextlib
import subprocess
import threading
import time
from dataclasses import dataclass

from lab.runtime.kubernetes.kubectl import ASK_LIMIT_S, Kubectl, KubectlError

QUESTIONS = 10
ANSWER_EACH_LINE = "while read -r _; do date +%s.%N; done"


@dataclass(frozen=True)
class Clock:
    """The lead of a pod's clock over this machine's, negative if it is behind, and the uncertainty of the lead."""

    ahead_s: float
    uncertainty_s: float


def read_clock(kubectl: Kubectl, pod: str, container: str) -> Clock:
    """Ask a pod for the time, QUESTIONS times over one connection.

    A pod reads its clock at some moment of the round trip, so half of that is the uncertainty. The shortest one counts.
    """
    argv = kubectl.exec_words(pod, container, ["sh", "-c", ANSWER_EACH_LINE], stdin=True)
    found = []
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        limit = threading.Timer(ASK_LIMIT_S, process.kill)
        limit.start()
        try:
            for _ in range(QUESTIONS):
                before = time.time()
                answer = _ask(process)
                after = time.time()
                if not answer:
                    break
                found.append(Clock(float(answer) - (before + after) / 2, (after - before) / 2))
            _, errors = process.communicate()
        finally:
            limit.cancel()
            process.kill()
    if not found:
        raise KubectlError(f"asking pod {pod} for the time", errors.decode("utf-8", "replace"))
    return min(found, key=lambda clock: clock.uncertainty_s)


def _ask(process: subprocess.Popen[bytes]) -> bytes:
    """Return the next answer; empty if there are no more."""
    if process.stdin is None or process.stdout is None:
        raise AssertionError("it was started with pipes")
    with contextlib.suppress(BrokenPipeError):  # it has ended, and may have answered before
        process.stdin.write(b"\n")
        process.stdin.flush()
    return process.stdout.readline()
