"""Drives one run through its phases (docs/how-it-works.md) and leaves nothing behind but the run directory.

preflight → build → dataset → (start → quiesce → warm-up → measure) × repeat → (start → quiesce → warm-up → profile)
→ collect → analyse → report → stop. Each repetition has a freshly started service on freshly linked data; the profiled
one comes last, at the same rate. Everything runs in the main thread, except the timeline and the conversion of the
profile, which goes on while the service ends.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from pathlib import Path

from lab import dataset, environment, noise, report
from lab.cpus import pin_self, usable_cpus
from lab.errors import RunError
from lab.experiment import Catalogue
from lab.manifest import Dataset as ManifestDataset
from lab.processes import describe_exit
from lab.run.background import Background
from lab.run.closing import tell_end
from lab.run.ending import clean_up, summarise
from lab.run.importing import import_limit_s, import_status
from lab.run.load import apply_load, load_status
from lab.run.phases import Phases, write_run_info
from lab.run.refusals import check_choices, check_space
from lab.run.show import Show
from lab.run.signals import signals_held_off, signals_raise
from lab.run.state import RunPlan, RunState
from lab.run.work import OneAtATime, remove_stale
from lab.runtime.base import CpuPlan, ProfileSpec, Service, ServiceSpec, cpu_list
from lab.units import duration_word, format_bytes

PREFLIGHT_LIMIT_S = 60.0
BUILD_LIMIT_S = 1800.0
DATASET_LIMIT_S = 1800.0
START_LIMIT_S = 180.0
READY_LIMIT_S = 60.0
QUIESCE_LIMIT_S = 300.0
LOAD_MARGIN_S = 60.0
PROFILE_MARGIN_S = 120.0
COLLECT_LIMIT_S = 300.0
ANALYSE_LIMIT_S = 300.0
STOP_LIMIT_S = 60.0
"""Limits of the phases; those under load get the load's own duration and a margin, a start the time of an import."""

PROFILED = "profiled"


class Run:
    """One run; use once."""

    def __init__(self, plan: RunPlan, show: Show) -> None:
        self.plan = plan
        self.state = RunState(plan)
        self._show = show
        self._phases = Phases(show, self._phase_changed)
        self._all_cpus = tuple(usable_cpus())
        self._one_at_a_time = OneAtATime(plan.house)

    def execute(self) -> int:
        """Run all phases; return the process's exit code. Errors of the run are shown, not raised."""
        error: BaseException | None = None
        try:
            with signals_raise():
                try:
                    self._run()
                except BaseException as raised:
                    error = raised
                with signals_held_off():
                    return self._end(error)
        except KeyboardInterrupt as late:  # in the few instructions before signals were held off
            return self._end(error or late)

    def _end(self, error: BaseException | None) -> int:
        clean_up(self.state, self._phases.done, error, self._show)
        if self._one_at_a_time.held:
            write_run_info(self._run_info_path, {}, None)
            self._one_at_a_time.release()
        return tell_end(self.state.made_or_none, self._show.console, error, self._phases.failed)

    def _run(self) -> None:
        experiment = self.plan.experiment
        self._one_at_a_time.take(f"experiment {self.plan.name}")
        self.state.timeline.start()
        self._preflight()
        self.state.make()
        self._build()
        self._provide_dataset()
        pin_self(self.plan.cpus.other)
        for number in range(1, experiment.repeat + 1):
            self._prepare(number)
            self._measure(number)
        if experiment.profile is None:
            with self._phases.phase("profile", 1) as going:
                going.skip("the experiment asks for none")
        else:
            self._prepare(experiment.repeat + 1, profiled=True)
            self._profile()
        pin_self(self._all_cpus)
        self._collect()
        with self._phases.phase("analyse", ANALYSE_LIMIT_S):
            summarise(self.state, self._phases.done)
        with self._phases.phase("report", ANALYSE_LIMIT_S):
            self.state.made.manifest.complete = True
            self.state.made.write(self._phases.done)
            report.write(self.state.directory)
        self._stop()

    def _preflight(self) -> None:
        plan = self.plan
        with self._phases.phase("preflight", PREFLIGHT_LIMIT_S) as going:
            remove_stale(plan.house, self._show.note)
            plan.runtime.preflight(plan.cpus, plan.ports, self._show.note)
            check_choices(plan, built=False)
            check_space(plan)
            going.remarks += [f"noise: {finding}" for finding in noise.audit()]
            going.detail = f"{plan.runtime.name}; {_describe(plan.cpus)}"

    def _build(self) -> None:
        with self._phases.phase("build", BUILD_LIMIT_S):
            self.plan.runtime.build(self.state.directory / "build.log", self._show.note)
            check_choices(self.plan, built=True)

    def _provide_dataset(self) -> None:
        with self._phases.phase("dataset", DATASET_LIMIT_S) as going:
            name, house, runtime = self.plan.experiment.dataset, self.plan.house, self.plan.runtime
            if name is None:
                going.skip("the store is empty at the start")
                return
            spec = Catalogue(house).dataset(name)
            table_format = runtime.table_format()
            cached = dataset.find_dataset(house, spec, table_format) is not None
            log = self.state.directory / "dataset.log"
            made = dataset.provide(house, runtime, spec, table_format=table_format, log=log, progress=self._show.note)
            self.state.dataset = made
            self.state.environment.dataset = ManifestDataset(name=name, hash=made.hash)
            size = made.info.get("bytes")
            going.detail = f"{name}, {'cached' if cached else 'made'}" + (f", {format_bytes(size)}" if size else "")

    def _prepare(self, number: int, *, profiled: bool = False) -> None:
        """Start a fresh service on fresh data, wait until it rests, and warm it up."""
        repetition = None if profiled else number
        suffix = f" {PROFILED}" if profiled else self._numbered(number)
        work = self.state.made.work.path / str(number)
        with self._phases.phase(
            "start",
            START_LIMIT_S + import_limit_s(self.state),
            repetition=repetition,
            label=f"start{suffix}",
            status=lambda: import_status(self.state),
        ) as going:
            going.remarks += self._stop_service()
            if number == 1 and self.plan.monitoring:
                self.plan.runtime.monitoring_up(self._show.note)
            going.detail = self._start_service(self.state.made.work.fresh(str(number)))
        with self._phases.phase("quiesce", QUIESCE_LIMIT_S, repetition=repetition, label=f"quiesce{suffix}"):
            _quiesce(self.state.service)
        warmup_s = self.plan.experiment.load.warmup_s
        with self._phases.phase(
            "warm-up",
            warmup_s + LOAD_MARGIN_S,
            repetition=repetition,
            label=f"warm-up{suffix}",
            expected_s=warmup_s or None,
            status=self._status,
        ) as going:
            if warmup_s == 0:
                going.skip("the experiment asks for none")
                return
            (work / "warm-up").mkdir()
            self._load(work / "warm-up", warmup_s, "the warm-up")

    def _start_service(self, work: Path) -> str:
        state, settings = self.state, self.plan.experiment.service
        how = "empty store"
        if state.dataset is None:
            (work / "data").mkdir()
        else:
            how = f"data {dataset.materialise(state.dataset, work / 'data')}"
        log = state.directory / "service.log"
        service = self.plan.runtime.start_service(
            ServiceSpec(work, settings.machine(), settings.jvm, self.plan.cpus.service, log)
        )
        state.service_started(service)
        service.wait_ready(READY_LIMIT_S + import_limit_s(self.state))
        state.watch_service()
        if state.environment.jvm is None:
            environment.add_service_view(state.environment, environment.read_config(service.admin_url))
        return how

    def _measure(self, number: int) -> None:
        duration_s = self.plan.experiment.load.duration_s
        out = self.state.directory / "measure" / str(number)
        out.mkdir(parents=True)
        with self._phases.phase(
            "measure",
            duration_s + LOAD_MARGIN_S,
            repetition=number,
            label=f"measure{self._numbered(number)}",
            expected_s=duration_s,
            status=self._status,
        ):
            self._load(out, duration_s, "the measurement")

    def _profile(self) -> None:
        duration_s, runtime = self.plan.experiment.load.duration_s, self.plan.runtime
        spec = self._profile_spec()
        spec.out.mkdir()
        limit_s = duration_s + PROFILE_MARGIN_S
        with self._phases.phase("profile", limit_s, expected_s=duration_s, status=self._status):
            runtime.start_profile(spec, self.state.service)
            self._load(spec.out, duration_s, "the profiled repetition")
            runtime.stop_profile(spec, self.state.service)

    def _collect(self) -> None:
        state, fingerprint = self.state, self.state.environment
        with self._phases.phase("collect", COLLECT_LIMIT_S) as going:
            conversion = None
            if self.plan.experiment.profile is not None:
                spec = self._profile_spec()
                conversion = Background(lambda: self.plan.runtime.convert_profile(spec, self._show.note))
            going.remarks += self._stop_service()
            facts = self.plan.runtime.facts()
            fingerprint.images = dict(facts.images)
            fingerprint.libraries = {**fingerprint.libraries, **facts.versions}
            fingerprint.load_generator = environment.load_generator(state.directory, self.plan.runtime.custom_loadgen)
            if conversion is not None:
                conversion.result()
                fingerprint.profiling_engine = environment.profiling_engine(state.directory)

    def _stop(self) -> None:
        with self._phases.phase("stop", STOP_LIMIT_S):
            self.state.timeline.stop()
            self.plan.runtime.monitoring_down()
            self.plan.runtime.close()
            self.state.made.work.remove()

    def _stop_service(self) -> list[str]:
        """End the service where one runs; return what is to be said if that did not go well."""
        code = self.state.stop_service()
        return [] if code in (0, None) else [f"the service {describe_exit(code)} when it was asked to end"]

    def _load(self, out: Path, duration_s: float, what: str) -> None:
        apply_load(self.state, out, duration_s, what, self._show.note)

    def _status(self) -> str:
        return load_status(self.state)

    def _numbered(self, number: int) -> str:
        repeat = self.plan.experiment.repeat
        return "" if repeat == 1 else f" {number}/{repeat}"

    def _profile_spec(self) -> ProfileSpec:
        settings = self.plan.experiment.profile
        if settings is None:
            raise AssertionError("a run without a profile has no recording")
        return ProfileSpec(
            out=self.state.directory / "profile",
            events=settings.events,
            interval=duration_word(settings.interval_s),
            title=f"{self.plan.name} at {self.plan.experiment.load.rate_per_s:,}/s",
            cpus=self.plan.cpus.other,
        )

    def _phase_changed(self, name: str | None) -> None:
        """Tell of a phase that begins, in the textfile metrics, and of one that is over, in run.json."""
        made = self.state.made_or_none
        if name is None:
            if made is not None:
                made.write(self._phases.done)
            return
        labels = {
            "run": made.directory.name if made is not None else "",
            "experiment": self.plan.name,
            "variant": self.plan.experiment.service.variant,
            "runtime": self.plan.runtime.name,
        }
        write_run_info(self._run_info_path, labels, name)

    @property
    def _run_info_path(self) -> Path:
        return self.plan.house.metrics / "lab.prom"


def _describe(cpus: CpuPlan) -> str:
    if not cpus.service:
        return "CPUs are not pinned"
    parts = (("service", cpus.service), ("load", cpus.loadgen), ("other", cpus.other))
    return "CPUs: " + ", ".join(f"{name} {cpu_list(part)}" for name, part in parts)


def _quiesce(service: Service) -> None:
    """Return when no flush and no compaction is pending."""
    url = f"{service.admin_url}/quiesce"
    request = urllib.request.Request(url, data=b"", method="POST")  # noqa: S310 - an address of this machine
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=QUIESCE_LIMIT_S):
            return
    except (urllib.error.URLError, OSError) as error:
        what = f"did not come to rest: POST {url}: {error}" if service.alive() else "died before it was at rest"
        raise RunError(f"the service {what}", log_tail=service.log_tail()) from error
