"""Drives one run through its phases (docs/how-it-works.md) and leaves nothing behind but the run directory.

preflight → build → dataset → (start → quiesce → warm-up → measure) × repeat → (start → quiesce → warm-up → profile)
→ collect → analyse → report → stop. Each repetition has a freshly started service on freshly linked data; the profiled
one comes last, at the same rate. Everything runs in the main thread, except the timeline and the conversion of the
profile, which goes on while the service ends.

However a run ends, `Run.execute` closes the runtime, removes the work directory and writes run.json; only a run that
got to its end is marked complete.
"""

from __future__ import annotations

import os
import shutil
import traceback
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import analysis, dataset, environment, noise, report
from lab.cpus import pin_self, usable_cpus
from lab.errors import InputError, LabError, RunError, did_you_mean
from lab.experiment import Catalogue, Experiment
from lab.manifest import CpuPlan as ManifestCpuPlan
from lab.manifest import Dataset as ManifestDataset
from lab.manifest import Experiment as ManifestExperiment
from lab.manifest import Manifest
from lab.paths import House
from lab.processes import tail
from lab.run.background import Background
from lab.run.closing import tell_end
from lab.run.directory import MANIFEST, list_artifacts, make_run_directory
from lab.run.phases import Phases, write_run_info
from lab.run.show import Show
from lab.run.signals import signals_held_off, signals_raise
from lab.run.work import WorkDirectory, remove_stale
from lab.runtime.base import CpuPlan, LoadSpec, Ports, ProfileSpec, Runtime, Service, ServiceSpec, cpu_list
from lab.timeline import Timeline, Watched
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
"""Limits of the phases; those under load get the load's own duration and a margin."""


@dataclass(frozen=True)
class RunPlan:
    """What to run and where."""

    house: House
    name: str
    experiment: Experiment
    overrides: Mapping[str, Any]
    runtime: Runtime
    cpus: CpuPlan
    ports: Ports
    monitoring: bool = True


class Run:
    """One run; use once. `directory` is None until preflight has passed: bad input leaves nothing."""

    def __init__(self, plan: RunPlan, show: Show) -> None:
        self.plan = plan
        self.directory: Path | None = None
        self.manifest: Manifest | None = None
        self._show = show
        self._phases = Phases(show, self._phase_changed)
        self._watched = Watched()
        self._timeline = Timeline(self._watched)
        self._environment = environment.describe_machine(plan.house)
        self._environment.cpu_plan = ManifestCpuPlan(**plan.cpus.as_dict())
        self._work: WorkDirectory | None = None
        self._service: Service | None = None
        self._dataset: dataset.Dataset | None = None
        self._all_cpus = tuple(usable_cpus())

    def execute(self) -> int:
        """Run all phases; return the process's exit code. Errors of the run are shown, not raised."""
        code = 1
        error: BaseException | None = None
        try:
            with signals_raise():
                try:
                    self._run()
                except BaseException as raised:
                    error = raised
                with signals_held_off():
                    self._clean_up(error)
                    code = self._tell(error)
        except KeyboardInterrupt as late:
            # A signal in the few instructions between the two: nothing is left to end but what clean-up ends.
            self._clean_up(error or late)
            code = self._tell(error or late)
        return code

    # The phases.

    def _run(self) -> None:
        experiment = self.plan.experiment
        self._timeline.start()
        self._preflight()
        self._make_directory()
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
        self._analyse()
        self._report()
        self._stop()

    def _preflight(self) -> None:
        with self._phases.phase("preflight", PREFLIGHT_LIMIT_S) as going:
            remove_stale(self.plan.house, self._show.note)
            self.plan.runtime.preflight(self.plan.cpus, self.plan.ports, self._show.note)
            self._check_choices(only_if_built=True)
            self._check_space()
            findings = noise.audit()
            cpus = self.plan.cpus
            going.detail = f"{self.plan.runtime.name}" + (
                f"; CPUs: service {cpu_list(cpus.service)}, load {cpu_list(cpus.loadgen)}, other {cpu_list(cpus.other)}"
                if cpus.service
                else "; CPUs are not pinned"
            )
        for finding in findings:
            self._show.console.print(f"  [yellow]noise:[/] {finding}", highlight=False)

    def _make_directory(self) -> None:
        plan = self.plan
        self.directory = make_run_directory(plan.house.results, plan.name)
        self.manifest = Manifest(
            run_id=self.directory.name,
            experiment=ManifestExperiment(
                name=plan.name,
                title=plan.experiment.title,
                resolved=plan.experiment.resolved(),
                overrides=dict(plan.overrides),
            ),
            runtime=plan.runtime.name,  # type: ignore[arg-type]
            environment=self._environment,
        )
        self._work = WorkDirectory(plan.house.work / self.directory.name)
        self._timeline.write_to(self.directory / "timeline.csv")
        self._write_manifest()

    def _build(self) -> None:
        with self._phases.phase("build", BUILD_LIMIT_S):
            log = self._directory / "build.log"
            self.plan.runtime.build(log, self._show.note)
            self._check_choices(only_if_built=False)

    def _provide_dataset(self) -> None:
        with self._phases.phase("dataset", DATASET_LIMIT_S) as going:
            name = self.plan.experiment.dataset
            if name is None:
                going.skip("the store is empty at the start")
                return
            spec = Catalogue(self.plan.house).dataset(name)
            table_format = self.plan.runtime.table_format()
            cached = dataset.find_dataset(self.plan.house, spec, table_format) is not None
            log = self._directory / "dataset.log"
            self._dataset = dataset.provide(
                self.plan.house, self.plan.runtime, spec, table_format=table_format, log=log, progress=self._show.note
            )
            self._environment.dataset = ManifestDataset(name=name, hash=self._dataset.hash)
            size = self._dataset.info.get("bytes")
            going.detail = f"{name}, {'cached' if cached else 'made'}" + (f", {format_bytes(size)}" if size else "")

    def _prepare(self, number: int, *, profiled: bool = False) -> None:
        """Start a fresh service on fresh data, wait until it rests, and warm it up."""
        repetition = None if profiled else number
        suffix = "" if self.plan.experiment.repeat == 1 and not profiled else f" {'profiled' if profiled else number}"
        with self._phases.phase("start", START_LIMIT_S, repetition=repetition, label=f"start{suffix}") as going:
            self._stop_service()
            if number == 1 and self.plan.monitoring:
                self.plan.runtime.monitoring_up(self._show.note)
            work = self._work_dir.fresh(str(number))
            if self._dataset is None:
                (work / "data").mkdir()
            else:
                how = dataset.materialise(self._dataset, work / "data")
                going.detail = f"data {how}"
            service = self.plan.runtime.start_service(
                ServiceSpec(
                    work_dir=work,
                    settings=self.plan.experiment.service.machine(),
                    jvm_flags=self.plan.experiment.service.jvm,
                    cpus=self.plan.cpus.service,
                    log=self._directory / "service.log",
                )
            )
            self._service = service
            service.wait_ready(READY_LIMIT_S)
            self._watched.service_pid = lambda: service.pid
            self._watched.service_metrics_url = f"{service.admin_url}/metrics"
            if number == 1:
                environment.add_service_view(self._environment, environment.read_config(service.admin_url))
        with self._phases.phase("quiesce", QUIESCE_LIMIT_S, repetition=repetition, label=f"quiesce{suffix}"):
            _post(f"{service.admin_url}/quiesce", QUIESCE_LIMIT_S, service)
        load = self.plan.experiment.load
        with self._phases.phase(
            "warm-up",
            load.warmup_s + LOAD_MARGIN_S,
            repetition=repetition,
            label=f"warm-up{suffix}",
            expected_s=load.warmup_s,
            status=self._load_status,
        ) as going:
            if load.warmup_s == 0:
                going.skip("the experiment asks for none")
                return
            out = work / "warm-up"
            out.mkdir()
            self._load(out, load.warmup_s, service, "the warm-up")

    def _measure(self, number: int) -> None:
        load = self.plan.experiment.load
        suffix = "" if self.plan.experiment.repeat == 1 else f" {number}/{self.plan.experiment.repeat}"
        out = self._directory / "measure" / str(number)
        with self._phases.phase(
            "measure",
            load.duration_s + LOAD_MARGIN_S,
            repetition=number,
            label=f"measure{suffix}",
            expected_s=load.duration_s,
            status=self._load_status,
        ):
            out.mkdir(parents=True)
            self._load(out, load.duration_s, self._running_service, "the measurement")

    def _profile(self) -> None:
        load = self.plan.experiment.load
        with self._phases.phase(
            "profile",
            load.duration_s + PROFILE_MARGIN_S,
            expected_s=load.duration_s,
            status=self._load_status,
        ):
            service, spec = self._running_service, self._profile_spec()
            spec.out.mkdir()
            self.plan.runtime.start_profile(spec, service)
            self._load(spec.out, load.duration_s, service, "the profiled repetition")
            self.plan.runtime.stop_profile(spec, service)

    def _collect(self) -> None:
        with self._phases.phase("collect", COLLECT_LIMIT_S):
            conversion = None
            if self.plan.experiment.profile is not None:
                spec = self._profile_spec()
                conversion = Background(lambda: self.plan.runtime.convert_profile(spec, self._show.note))
            self._stop_service()
            facts = self.plan.runtime.facts()
            self._environment.images = dict(facts.images)
            self._environment.libraries = {**self._environment.libraries, **facts.versions}
            if conversion is not None:
                self._show.note("flame graphs, heatmaps, pictures")
                conversion.result()
                self._environment.profiling_engine = environment.profiling_engine(self._directory)
            self._environment.load_generator = environment.load_generator(
                self._directory, os.environ.get("LOADGEN", "")
            )

    def _analyse(self) -> None:
        with self._phases.phase("analyse", ANALYSE_LIMIT_S):
            manifest = self._manifest
            rate = float(self.plan.experiment.load.rate_per_s)
            manifest.phases = list(self._phases.done)
            manifest.summary = analysis.summarise(self._directory, rate_offered_per_s=rate)
            manifest.validity = analysis.judge(self._directory, manifest)

    def _report(self) -> None:
        with self._phases.phase("report", ANALYSE_LIMIT_S):
            self._manifest.complete = True
            self._write_manifest()
            report.write(self._directory)

    def _stop(self) -> None:
        with self._phases.phase("stop", STOP_LIMIT_S):
            self._timeline.stop()
            self.plan.runtime.monitoring_down()
            self.plan.runtime.close()
            self._work_dir.remove()

    # Parts of phases.

    def _check_choices(self, *, only_if_built: bool) -> None:
        """Refuse a variant or an engine that the built service does not have."""
        runtime, service = self.plan.runtime, self.plan.experiment.service
        for kind, wanted, ask in (
            ("variant", service.variant, runtime.variants),
            ("engine", service.engine, runtime.engines),
        ):
            try:
                known = [choice.name for choice in ask()]
            except RunError:
                if only_if_built:
                    return
                raise
            if wanted not in known:
                where = f"{kind.upper()}={wanted}" if kind in self.plan.overrides else f"service.{kind}: {wanted!r}"
                raise InputError(
                    f"{where}: no such {kind}{did_you_mean(wanted, known)}; there are: {', '.join(known)}",
                    "" if kind in self.plan.overrides else f"in experiments/{self.plan.name}/experiment.yaml",
                )

    def _check_space(self) -> None:
        """Refuse to begin what the disk cannot hold: the dataset where it is not cached, and what PUTs may write."""
        house, experiment = self.plan.house, self.plan.experiment
        needed = 0
        what = "the run"
        if experiment.dataset is not None:
            spec = Catalogue(house).dataset(experiment.dataset)
            what = f"dataset {spec.name}"
            if not dataset.is_cached_in_any_format(house, spec):
                needed += dataset.estimated_bytes(spec)
        elif experiment.load.script.startswith("put"):
            load = experiment.load
            value_bytes = int(load.args.get("value_bytes", 500))
            needed += int(2 * load.rate_per_s * (load.warmup_s + load.duration_s) * (value_bytes + 40))
            what = f"what {load.script} may write"
        dataset.require_space(house.cache, needed, what)

    def _load(self, out: Path, duration_s: float, service: Service, what: str) -> None:
        load = self.plan.experiment.load
        self._watched.loadgen_metrics_url = self.plan.runtime.loadgen_metrics_url()
        self._watched.loadgen_pid = self.plan.runtime.loadgen_pid
        try:
            result = self.plan.runtime.load(
                LoadSpec(
                    script=self.plan.house.scripts / load.script,
                    rate_per_s=load.rate_per_s,
                    threads=load.threads,
                    connections=load.connections,
                    duration_s=duration_s,
                    words=self._words(),
                    out=out,
                    cpus=self.plan.cpus.loadgen,
                    timeout_s=load.timeout_s,
                ),
                service,
                self._show.note,
            )
        finally:
            self._watched.loadgen_metrics_url = None
            self._watched.loadgen_pid = _nothing
        if not service.alive():
            raise RunError(f"the service died during {what}", log_tail=service.log_tail())
        if result.exit_code != 0:
            raise RunError(
                f"the load generator ended {what} with exit code {result.exit_code}",
                log_tail=result.error_tail or tail(out / "load.txt", 15),
            )

    def _words(self) -> tuple[str, ...]:
        words: dict[str, str | int] = {}
        if self._dataset is not None:
            spec = self._dataset.spec
            words = {"pairs": spec.pairs, "value_bytes": spec.value_bytes, "seed": spec.seed}
        words.update(self.plan.experiment.load.args)
        return tuple(f"{key}={value}" for key, value in words.items())

    def _profile_spec(self) -> ProfileSpec:
        settings = self.plan.experiment.profile
        if settings is None:
            raise AssertionError("a run without a profile has no recording")
        return ProfileSpec(
            out=self._directory / "profile",
            events=settings.events,
            interval=duration_word(settings.interval_s),
            title=f"{self.plan.name} at {self.plan.experiment.load.rate_per_s:,}/s",
            cpus=self.plan.cpus.other,
        )

    def _stop_service(self) -> None:
        service, self._service = self._service, None
        self._watched.service_metrics_url = None
        self._watched.service_pid = _nothing
        if service is not None:
            self._show.note("the service ends")
            service.stop()

    def _load_status(self) -> str:
        latest = self._timeline.latest
        done, at = latest.get("loadgen_requests_total"), latest.get('loadgen_latency_seconds{quantile="0.99"}')
        if done is None:
            return ""
        return f"{done:,.0f} requests" + (f", p99 {at * 1e3:.1f} ms" if at is not None else "")

    # However it ended.

    def _clean_up(self, error: BaseException | None) -> None:
        """End everything that is left, gently where a service can still be asked, and record how the run ended."""
        if error is None:
            self._finish_manifest(complete=True)
            return
        self._timeline.stop()
        self.plan.runtime.close()
        if self._work is not None:
            self._work.remove()
        write_run_info(self._run_info_path, {}, None)
        if self.directory is None:
            return
        if isinstance(error, InputError):
            shutil.rmtree(self.directory)  # nothing was run: only the log of a build that changed nothing
            self.directory = None
            return
        if not isinstance(error, LabError | KeyboardInterrupt):
            (self.directory / "error.txt").write_text("".join(traceback.format_exception(error)), encoding="utf-8")
        if any(phase.name == "measure" and phase.outcome == "ok" for phase in self._phases.done):
            self._salvage()
        self._finish_manifest(complete=False)

    def _salvage(self) -> None:
        """Report on what was measured before the run broke off; the verdict is invalid and says why."""
        manifest = self._manifest
        try:
            manifest.phases = list(self._phases.done)
            rate = float(self.plan.experiment.load.rate_per_s)
            manifest.summary = analysis.summarise(self._directory, rate_offered_per_s=rate)
            manifest.validity = analysis.judge(self._directory, manifest)
            self._write_manifest()
            report.write(self._directory)
        except Exception as error:
            self._show.console.print(f"  no report on what was measured: {error}", highlight=False)

    def _finish_manifest(self, *, complete: bool) -> None:
        manifest = self._manifest
        manifest.complete = complete
        manifest.artifacts = list_artifacts(self._directory)
        self._write_manifest()

    def _tell(self, error: BaseException | None) -> int:
        return tell_end(self, self._show.console, error, self._phases.failed)

    def _phase_changed(self, name: str | None) -> None:
        labels = {
            "run": self.directory.name if self.directory is not None else "",
            "experiment": self.plan.name,
            "variant": self.plan.experiment.service.variant,
            "runtime": self.plan.runtime.name,
        }
        if name is not None:
            write_run_info(self._run_info_path, labels, None if name == "stop" else name)
        elif self.manifest is not None:
            self._write_manifest()

    def _write_manifest(self) -> None:
        self._manifest.phases = list(self._phases.done)
        self._manifest.environment = self._environment
        self._manifest.write(self._directory / MANIFEST)

    @property
    def _run_info_path(self) -> Path:
        return self.plan.house.metrics / "lab.prom"

    @property
    def _directory(self) -> Path:
        if self.directory is None:
            raise AssertionError("the run directory is made after preflight")
        return self.directory

    @property
    def _manifest(self) -> Manifest:
        if self.manifest is None:
            raise AssertionError("the manifest is made after preflight")
        return self.manifest

    @property
    def _work_dir(self) -> WorkDirectory:
        if self._work is None:
            raise AssertionError("the work directory is made after preflight")
        return self._work

    @property
    def _running_service(self) -> Service:
        if self._service is None:
            raise AssertionError("no service is running")
        return self._service


def _nothing() -> int | None:
    return None


def _post(url: str, timeout_s: float, service: Service) -> None:
    request = urllib.request.Request(url, data=b"", method="POST")  # noqa: S310
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=timeout_s):
            return
    except (urllib.error.URLError, OSError) as error:
        if not service.alive():
            raise RunError("the service died before it was at rest", log_tail=service.log_tail()) from error
        raise RunError(f"the service did not come to rest: POST {url}: {error}", log_tail=service.log_tail()) from error
