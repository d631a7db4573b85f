"""Executes a plan of repetitions, one after another: of any experiments, in any order, profiled or not.

start → quiesce → warm-up → measure or profile, for each. Each repetition has a freshly started service on freshly
linked data, so the order of a plan does not matter to it. A run is a session whose plan repeats one experiment.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterable
from pathlib import Path

from lab import dataset
from lab.cpu_plan import cpu_list
from lab.errors import RunError
from lab.experiment import Experiment
from lab.http import fetch, status_of
from lab.machine import environment
from lab.process.processes import describe_exit, tail
from lab.prometheus import SCRAPES_MAX_S, warm_up_scrapes
from lab.run.load import apply_load, lead_in_s, load_status, warmup_loads_s
from lab.run.phases import Phases
from lab.run.repetition import Repetition
from lab.run.show import Show
from lab.run.state import RunState
from lab.runtime.base import ProfileSpec, Service, ServiceSpec

START_LIMIT_S = 180.0
READY_LIMIT_S = 60.0
QUIESCE_LIMIT_S = 300.0
LOAD_MARGIN_S = 60.0
PROFILE_MARGIN_S = 120.0
ANSWER_LIMIT_S, ANSWER_LOOK_S = 10.0, 0.2
"""Limits of the phases. Those under load get the load's own duration and a margin, a start the time of an import."""


class Session:
    """The service and the load on this machine. One repetition goes on at a time; use from the main thread."""

    def __init__(self, state: RunState, phases: Phases, show: Show) -> None:
        self._state = state
        self._phases = phases
        self._show = show
        self._started = 0

    def execute(self, plan: Iterable[Repetition]) -> None:
        """Execute the repetitions in order; an exception ends the session. The last service stays up."""
        for repetition in plan:
            if repetition.profile is not None and self._state.unprofiled:
                with self._phases.phase("profile", 1) as active:
                    active.skip(self._state.unprofiled)
                continue
            self.prepare(repetition)
            if repetition.profile is None:
                self.measure(repetition)
            else:
                self.profile(repetition, repetition.profile)

    def stop_service(self) -> list[str]:
        """End the service if one runs; return remarks if that did not go well."""
        code = self._state.stop_service()
        if code == -signal.SIGKILL:
            return ["the service ignored SIGTERM, so it was killed"]
        return [] if code in (0, None) else [f"the service {describe_exit(code)} when it was asked to end"]

    def prepare(self, repetition: Repetition) -> Path | None:
        """Start a fresh service on fresh data, wait until it rests, and warm it up.

        Returns the directory of the outputs of the warm-up's last load, which the next start removes; None without a
        warm-up.
        """
        number, suffix = repetition.number, repetition.suffix
        self._started += 1
        with self._phases.phase(
            "start",
            START_LIMIT_S + import_limit_s(repetition),
            repetition=number,
            label=f"start{suffix}",
            status=lambda: import_status(repetition),
        ) as active:
            active.remarks += self.stop_service()
            if self._started == 1:
                active.remarks += self._start_monitoring()
            work = self._state.artifacts.work.fresh(str(self._started))
            active.detail = self._start_service(repetition, work)
        with self._phases.phase("quiesce", QUIESCE_LIMIT_S, repetition=number, label=f"quiesce{suffix}") as active:
            if self._state.service.quiesce_url is None:
                active.skip("the service has no quiesce")
            self.quiesce()
        warmup_s = repetition.experiment.load.warmup_s
        with self._phases.phase(
            "warm-up",
            warmup_s + LOAD_MARGIN_S,
            repetition=number,
            label=f"warm-up{suffix}",
            expected_s=warmup_s or None,
            status=self._status,
        ) as active:
            if warmup_s == 0:
                active.skip("the experiment asks for none")
                return None
            outputs = work / "warm-up"
            outputs.mkdir()
            if (url := self._state.service.metrics_url) is not None:
                warm_up_scrapes(url, min(SCRAPES_MAX_S, warmup_s / 10))
            for load_s in warmup_loads_s(warmup_s):
                self._load(repetition, outputs, load_s, "the warm-up")
            return outputs

    def quiesce(self) -> None:
        """Return when the service has no flush and no compaction pending; at once if it has no quiesce."""
        if (url := self._state.service.quiesce_url) is not None:
            _quiesce(self._state.service, url)

    def _start_monitoring(self) -> list[str]:
        """Bring the monitoring up if it is wanted; return a remark if it stays off for the measurement's sake."""
        plan = self._state.plan
        monitoring, shared = plan.runtime.monitoring, plan.cpus.shared_by_helpers
        if plan.monitoring or (plan.monitoring is None and (not shared or monitoring.running())):
            monitoring.up(plan.cpus, plan.ports, self._show.note)
        elif plan.monitoring is None:
            cpus = cpu_list(shared)
            return [f"no Prometheus: on CPU {cpus} it would delay what is measured; MONITORING=on starts it"]
        return []

    def _start_service(self, repetition: Repetition, work: Path) -> str:
        state, settings = self._state, repetition.experiment.service
        how = "as it is" if settings.foreign else "empty store"
        if repetition.dataset is None:
            (work / "data").mkdir()
        elif state.plan.runtime.elsewhere is not None:
            how = "data linked"
        else:
            how = f"data {dataset.materialise(repetition.dataset, work / 'data')}"
            if not dataset.read_into_page_cache(work / "data"):
                how += ", larger than half of the free memory"
        service = state.plan.runtime.start_service(
            ServiceSpec(
                work,
                settings.machine(),
                settings.jvm,
                state.plan.cpus.service,
                repetition.log,
                beside=state.plan.beside,
                root=state.plan.service_root,
                declared=settings if settings.foreign else None,
            )
        )
        state.service_started(service)
        service.wait_ready(READY_LIMIT_S + import_limit_s(repetition))
        _check_answer(service, repetition.experiment)
        state.watch_service()
        if repetition.environment.jvm is None:
            environment.add_service_view(repetition.environment, environment.read_config(service.config_url))
        return how

    def measure(self, repetition: Repetition) -> None:
        """Apply the load to the prepared service, its files into the repetition's directory."""
        duration_s, lead_s = repetition.experiment.load.duration_s, lead_in_s(repetition)
        repetition.out.mkdir(parents=True)
        with self._phases.phase(
            "reference" if repetition.reference else "measure",
            duration_s + LOAD_MARGIN_S,
            repetition=repetition.number,
            label=f"measure{repetition.suffix}",
            expected_s=lead_s + duration_s,
            status=self._status,
        ):
            self._load(repetition, repetition.out, duration_s, "the measurement", lead_s)

    def profile(self, repetition: Repetition, spec: ProfileSpec) -> None:
        """Apply the load to the prepared service while it is profiled."""
        duration_s, lead_s = repetition.experiment.load.duration_s, lead_in_s(repetition)
        runtime = self._state.plan.runtime
        spec.out.mkdir()
        limit_s = duration_s + PROFILE_MARGIN_S
        label = f"profile{repetition.suffix}" if repetition.label else ""
        with self._phases.phase("profile", limit_s, label=label, expected_s=lead_s + duration_s, status=self._status):
            runtime.profiler.start(spec, self._state.service, limit_s)
            self._load(repetition, spec.out, duration_s, "the profiled repetition", lead_s)
            runtime.profiler.stop(spec, self._state.service)

    def _load(self, repetition: Repetition, out: Path, duration_s: float, what: str, lead_s: float = 0.0) -> None:
        note = self._show.note
        apply_load(self._state, repetition, out, duration_s, what=what, progress=note, lead_in_s=lead_s)

    def _status(self) -> str:
        return load_status(self._state)


def _check_answer(service: Service, experiment: Experiment) -> None:
    """Refuse a load whose single request is not answered as expected; a service that has just started has time."""
    path, expected = experiment.load.get, experiment.load.expect
    deadline = time.monotonic() + ANSWER_LIMIT_S
    while path is not None:
        status = status_of(f"{service.data_url}{path}", ANSWER_LIMIT_S)
        if status is not None and (200 <= status < 400 or status in expected):
            return
        if not service.alive():
            raise RunError(f"the service died at its first request, GET {path}", log_tail=service.log_tail())
        if time.monotonic() > deadline:
            answered = "is not answered" if status is None else f"is answered {status}"
            raise RunError(
                f"GET {path} {answered}, so there is nothing to measure",
                "Correct the path" + (f", or write expect: [{status}] if that is the right answer" if status else ""),
                service.log_tail(),
            )
        time.sleep(ANSWER_LOOK_S)


def _quiesce(service: Service, url: str) -> None:
    """Return when no flush and no compaction is pending."""
    try:
        fetch(url, QUIESCE_LIMIT_S, post=True)
    except OSError as error:
        what = f"did not come to rest: POST {url}: {error}" if service.alive() else "died before it was at rest"
        raise RunError(f"the service {what}", log_tail=service.log_tail()) from error


IMPORT_BYTES_PER_S = 5e6
"""A slower service counts as stuck: a fraction of the measured rate of the slowest engine."""

USES_THE_DATASET_ITSELF = frozenset({"lsm", "textbook", "null"})
_PROGRESS = re.compile(r"copying the dataset into engine .*")


def import_limit_s(repetition: Repetition) -> float:
    """Return how much longer than other services this one may take until it is ready."""
    if repetition.dataset is None or repetition.experiment.service.parameter("engine") in USES_THE_DATASET_ITSELF:
        return 0.0
    return dataset.estimated_bytes(repetition.dataset.spec) / IMPORT_BYTES_PER_S


def import_status(repetition: Repetition) -> str:
    """Return the progress of the copy, in the service's own words, for the live line."""
    if import_limit_s(repetition) == 0:
        return ""
    progress = _PROGRESS.findall(tail(repetition.log, 5))
    return progress[-1] if progress else ""
