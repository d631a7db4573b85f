"""Collects after the load: the end of the service, the profile's pictures, the fingerprint."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from lab.experiment import Experiment
from lab.machine import environment
from lab.machine.fingerprint import digest
from lab.progress import Progress
from lab.run.session import Session
from lab.run.state import RunState
from lab.runtime.base import ProfileSpec
from lab.units import duration_word


def profile_spec(state: RunState) -> ProfileSpec | None:
    """Return the recording that the experiment asks for, into the run's profile/; None if it asks for none."""
    settings = state.plan.experiment.profile
    if settings is None or state.unprofiled:
        return None
    return ProfileSpec(
        out=state.directory / "profile",
        events=settings.events,
        interval=duration_word(settings.interval_s),
        title=_title(state.plan.name, state.plan.experiment),
        cpus=state.plan.cpus.other,
        depth=settings.depth,
        pprof=settings.pprof,
        categories=None if (rules := state.plan.experiment.service.categories) is None else Path(rules),
    )


def _title(name: str, experiment: Experiment) -> str:
    """Return the title of the pictures: experiment, service, load."""
    load = experiment.load
    return f"{name} · {experiment.service.label}, {load.connections} connections, {load.rate_per_s:,}/s"


def collect(state: RunState, session: Session, progress: Progress) -> list[str]:
    """End the service while the profile is converted, and complete the fingerprint; return remarks for the user."""
    runtime, fingerprint = state.plan.runtime, state.environment
    spec = profile_spec(state)
    if state.unprofiled:  # so that no reader misses a profile
        declared = state.artifacts.manifest.experiment
        declared.resolved = declared.resolved.model_copy(update={"profile": None})
    conversion = None if spec is None else Background(lambda: runtime.profiler.convert(spec, progress))
    remarks = session.stop_service()
    facts = runtime.facts()
    fingerprint.monitoring = runtime.monitoring.running()
    fingerprint.images = dict(facts.images)
    fingerprint.libraries = {**fingerprint.libraries, **facts.versions}
    if runtime.elsewhere is not None:
        runtime.elsewhere.describe(fingerprint)
    fingerprint.load_generator = environment.load_generator(state.directory, runtime.custom_loadgen)
    if conversion is not None:
        conversion.result()
        fingerprint.profiling_engine = environment.profiling_engine(state.directory)
    fingerprint.fingerprint = digest(fingerprint)
    return [*remarks, *facts.notes]


class Background:
    """Runs `work` in a daemon thread at once; `result()` waits for it and raises what it raised."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def result(self) -> None:
        """Wait. The wait is divided into short pieces, so that a signal's exception reaches the main thread."""
        while self._thread.is_alive():
            self._thread.join(0.05)
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self._error = error
