"""Applies the load: the warm-up, a repetition, or the profiled one."""

from __future__ import annotations

from pathlib import Path

from lab.cpu_plan import CpuPlan
from lab.errors import RunError
from lab.experiment.script import read_load
from lab.paths import Checkout
from lab.process.processes import tail
from lab.progress import Progress
from lab.run.repetition import Repetition
from lab.run.state import RunState
from lab.runtime.base import LoadSpec

LEAD_IN_S = 1.0
"""Seconds of load before a measurement, over the same new connections: opening them is no part of a steady state."""
FIRST_WARMUP_LOAD_MAX_S = 3.0
"""In a pilot of 60 s the first load reports no seconds, so it is short."""


def lead_in_s(repetition: Repetition) -> float:
    """Return the length of the lead-in; 0 without a warm-up, because such a run measures the cold start."""
    return LEAD_IN_S if repetition.experiment.load.warmup_s > 0 else 0.0


def warmup_loads_s(warmup_s: float) -> tuple[float, ...]:
    """Return the lengths of the loads of which a warm-up consists: two if it takes 4 s or more, otherwise one.

    The first ends early, so that the service closes connections within the warm-up. Closing takes branches that the
    JIT compiler had assumed to be dead: it discards the code of the read path and compiles it again.
    """
    first_s = min(FIRST_WARMUP_LOAD_MAX_S, warmup_s // 4)  # whole seconds: wrk2 knows no shorter unit
    return (first_s, warmup_s - first_s) if first_s else (warmup_s,)


def apply_load(
    state: RunState,
    repetition: Repetition,
    out: Path,
    duration_s: float,
    *,
    what: str,
    progress: Progress,
    lead_in_s: float = 0.0,
) -> None:
    """Run the load generator against the state's service, its files into `out`. RunError names `what` was applied."""
    load, service, plan = repetition.experiment.load, state.service, state.plan
    spec = LoadSpec(
        script=None if load.script is None else plan.checkout.scripts / load.script,
        path=load.get or "",
        rate_per_s=load.rate_per_s,
        threads=load.threads,
        connections=load.connections,
        duration_s=duration_s,
        words=script_words(repetition, plan.checkout),
        out=out,
        cpus=plan.cpus.loadgen,
        timeout_s=load.timeout_s,
        expect=load.expect,
        own=repetition.reference,
        polling=polls(plan.cpus),
        lead_in_s=lead_in_s,
    )
    state.watch_load(on=True)
    try:
        result = plan.runtime.load(spec, service, progress)
    finally:
        state.watch_load(on=False)
    if not service.alive():
        raise RunError(f"the service died during {what}", log_tail=service.log_tail())
    if result.exit_code != 0:
        raise RunError(
            f"the load generator ended {what} with exit code {result.exit_code}",
            log_tail=result.error_tail or tail(out / "load.txt", 15),
        )


def polls(cpus: CpuPlan) -> bool:
    """Return whether the load generator polls instead of sleeping: if it has CPUs of its own.

    Beside a generator that polls the service would starve. It never wakes up, so helpers would delay it for whole time
    slices.
    """
    return bool(cpus.loadgen) and not set(cpus.loadgen) & {*cpus.service, *cpus.other}


def script_words(repetition: Repetition, checkout: Checkout) -> tuple[str, ...]:
    """Return the words for the script's init(args): the dataset's that it declares, then the experiment's own.

    Scripts refuse a word that they do not know: get.lua does not use `value_bytes`.
    """
    words: dict[str, str | int] = {}
    if repetition.dataset is not None:
        spec = repetition.dataset.spec
        script = read_load(checkout.scripts, repetition.experiment.load)
        known = {"pairs": spec.pairs, "value_bytes": spec.value_bytes, "seed": spec.seed}
        words = {key: value for key, value in known.items() if key in script.words}
    words.update(repetition.experiment.load.args)
    return tuple(f"{key}={value}" for key, value in words.items())


def load_status(state: RunState) -> str:
    """Return a line from the load generator's own metrics, for the live line."""
    latest = state.timeline.latest
    done, p99_s = latest.get("loadgen_requests_total"), latest.get('loadgen_latency_seconds{quantile="0.99"}')
    if done is None:
        return ""
    return f"{done:,.0f} requests" + (f", p99 {p99_s * 1e3:.1f} ms" if p99_s is not None else "")
