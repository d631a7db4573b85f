"""The tables of the run itself: environment, phases, experiment, files."""

from __future__ import annotations

import json
from collections.abc import Iterable

from lab.kubernetes.cluster import cluster_of
from lab.pages.document import Cell, Row, Table
from lab.report import numbers
from lab.report.data import ReportData, local_time

_CODE = ("JVM flags", "Source", "Kernel", "Fingerprint")


def environment_table(data: ReportData) -> Table:
    """List the fingerprint of machine and software."""
    e = data.manifest.environment
    cpu, plan = e.cpu, e.cpu_plan
    tool = e.load_generator
    own = "" if tool is None or not tool.custom else " (not the lab’s own)"
    pairs: list[tuple[str, str | None]] = [
        ("Processor", None if cpu is None else cpu.model),
        ("CPUs", None if cpu is None else _cpus(cpu.logical, cpu.cores, cpu.threads_per_core)),
        ("Virtual machine", None if cpu is None or cpu.hypervisor is None else cpu.hypervisor),
        ("Frequency governor", None if cpu is None else cpu.governor),
        ("Turbo", None if cpu is None or cpu.turbo is None else "on" if cpu.turbo else "off"),
        ("Memory", None if e.memory_bytes is None else numbers.size(e.memory_bytes)),
        ("Kernel", e.kernel),
        ("System", e.os),
        ("CPUs of the service", None if plan is None else _list(plan.service)),
        ("CPUs of the load generator", None if plan is None else _list(plan.loadgen)),
        ("CPUs of everything else", None if plan is None else _list(plan.other)),
        ("Prometheus during the run", None if e.monitoring is None else "yes" if e.monitoring else "no"),
        ("JVM", e.jvm),
        ("Garbage collector", e.gc),
        ("JVM flags", "\n".join(e.jvm_flags) or None),
        ("one-nio's native transport", None if e.native_transport is None else "yes" if e.native_transport else "no"),
        ("Load generator", None if tool is None else f"{tool.name} {tool.version}{own}"),
        ("Profiling engine", e.profiling_engine),
        ("Dataset", None if e.dataset is None else f"{e.dataset.name} ({e.dataset.hash})"),
        ("Source", None if e.git is None else e.git.commit + (", with changes" if e.git.dirty else "")),
    ]
    if e.libraries:
        pairs.append(("Libraries", ", ".join(f"{name} {version}" for name, version in sorted(e.libraries.items()))))
    pairs += [(name.replace("_", " ").capitalize(), fact) for name, fact in sorted(e.host.items())]
    if (cluster := cluster_of(e)) is not None:
        pairs += cluster.rows()
    pairs.append(("Fingerprint", e.fingerprint))
    pairs += [(f"Image {name}", digest) for name, digest in sorted(e.images.items())]
    rows: list[Row] = [
        [name, Cell(value or "unknown", "none" if not value else "code" if name in _CODE else "")]
        for name, value in pairs
    ]
    return Table("environment-table", "Environment", ["", ""], rows, kind="pairs")


def _cpus(logical: int, cores: int | None, threads: int | None) -> str:
    if cores is None:
        return f"{logical} logical"
    siblings = f", {threads} threads a core" if threads and threads > 1 else ""
    return f"{logical} logical, {cores} {'core' if cores == 1 else 'cores'}{siblings}"


def _list(cpus: list[int]) -> str:
    return ", ".join(map(str, cpus)) if cpus else "not pinned"


def phase_table(data: ReportData) -> Table:
    """List the phases of the run and how long each took."""
    phases = data.manifest.phases
    longest = max((p.duration_s for p in phases), default=0.0) or 1.0
    rows: list[Row] = [
        [
            (p.name if p.repetition is None else f"{p.name} {p.repetition}"),
            p.start.strftime("%H:%M:%S"),
            Cell(numbers.duration(p.duration_s), bar=p.duration_s / longest),
            Cell(p.outcome, "" if p.outcome == "ok" else "none" if p.outcome == "skipped" else "bad"),
            p.detail,
        ]
        for p in phases
    ]
    return Table("phase-table", "Phases", ["Phase", "Start (UTC)", "Took", "Outcome", "Detail"], rows, numeric=(1, 2))


def experiment_table(data: ReportData) -> Table:
    """List the resolved experiment; overrides of the command line are marked."""
    overrides = data.manifest.experiment.overrides
    rows: list[Row] = []
    for key, value in _flat(data.manifest.experiment.resolved.resolved()):
        if key.startswith("reference"):
            continue
        leaf = key.rpartition(".")[2]
        over = key in overrides or leaf in overrides or leaf.removesuffix("_per_s").removesuffix("_s") in overrides
        rows.append([key, Cell(value + ("  (set for this run)" if over else ""), "override" if over else "")])
    if (rate := data.manifest.experiment.rate) is not None and rate.how != "declared":
        rows.append(["how the rate came", Cell(rate.sentence(), "override")])
    return Table("experiment-table", "Experiment as run", ["Key", "Value"], rows, kind="pairs")


def _flat(value: object, prefix: str = "") -> Iterable[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _flat(inner, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        yield prefix, ", ".join(map(str, value)) or "none"
    else:
        yield (
            prefix,
            "none" if value in ({}, []) else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False),
        )


def artifact_table(data: ReportData) -> Table:
    """List the files of the run directory."""
    rows: list[Row] = [
        [Cell(a.path, href=a.path), numbers.size(a.bytes), Cell(a.sha256, "hash")] for a in data.artifacts
    ]
    note = "run.json lists the reports too: they are finished after this list was made."
    return Table("artifact-table", "Files", ["File", "Size", "SHA-256"], rows, numeric=(1,), note=note, folded=True)


def started(data: ReportData) -> str:
    """Return when the run began, as text."""
    return local_time(data.manifest.phases[0].start) if data.manifest.phases else data.manifest.run_id
