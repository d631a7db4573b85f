"""Makes run directories as a run would leave them, from a seed: what the tests of analysis and report read.

The load is 2,000 requests/s for twenty seconds; a flush stalls the service in the middle, and shows in latency and
timeline alike. One long file, because all files of a run are made from the same seconds.
"""

from __future__ import annotations

import csv
import json
import math
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from hdrh.histogram import HdrHistogram

from analysis.wrk2_text import Report, print_report
from lab.analysis import judge, summarise
from lab.manifest import Artifact, Experiment, Manifest, Outcome, Phase
from lab.report.data import OWN_FILES
from report.synthesis_manifest import environment, resolved
from report.synthesis_profile import make_profile, make_tail
from report.synthesis_service import make_service_log, stages
from support.quantiles import spectrum, values_at

BEGAN = datetime(2026, 11, 21, 9, 14, 33, tzinfo=UTC)
NAMES = ("50", "75", "90", "99", "99.9", "99.99", "99.999", "100")


@dataclass(frozen=True)
class Shape:
    """The properties of the run to make."""

    repetitions: int = 1
    rate: int = 2000
    seconds: int = 20
    capacity: float = math.inf
    profiled: bool = True
    reference: bool = True
    hlog: bool = True
    json: bool = True
    uncorrected: bool = True
    cut_off_hlog: bool = False
    timeline: bool = True
    outcome: Outcome = "ok"
    judged: bool = True
    title: str = "GET at 2,000/s, requests queued last-in first-out"
    errors: dict[str, int] = field(default_factory=dict)
    seed: int = 1
    steal: float = 0.0
    hog: dict[str, tuple[int, int, float]] = field(default_factory=dict)
    """By role: first second in the measurement, number of seconds, share of a CPU. On the service's CPU it
    makes the latencies of its seconds longer."""
    others: dict[str, float] = field(default_factory=dict)
    """CPUs that other processes use on average, by name."""
    acked_late: float = 0.0
    """The share of responses whose body waits for a delayed ACK of the head."""
    throttled: float = 0.0
    unpinned_from: int | None = None
    """The second in the measurement from which on the service has other CPUs than the plan's."""
    run_delay: float = 0.0
    """Share of time in which the load generator is ready to run and does not, though nobody is seen on its CPU."""
    memory_stall: float = 0.0
    refaulting: float = 0.0
    """Share of time in which pages are read again that the kernel had taken away."""
    reading: float = 0.0
    """Share of time in which pages are read that are not cached: half of them were taken away long ago."""
    power: bool = False
    """The service syncs each PUT. Every ten seconds a flush writes 64 MB, which reach the disk a second later."""
    others_mb: float = 0.0
    """MB that other processes write in a second."""
    episode: tuple[int, int] = (0, 1_000_000)
    """First second in the measurement, and number of seconds, of steal, throttling, delays and waits for a disk."""
    missing_seconds: int = 0
    clock_step_s: float = 0.0
    jit: float = 0.0
    compacts: bool = False
    compaction: tuple[int, float] | None = None
    """The second in the measurement in which a compaction ends, and how long it took."""
    lag_us: float = 4.0
    stop: tuple[int, float] | None = None
    """The second in which the load generator stands still, and for how long, at most 1 s."""
    busiest_share: float = 0.21
    """CPU of the load generator's busiest thread."""
    moved: dict[str, float] = field(default_factory=dict)
    """By percentile: by how many ms the load generator moved it."""
    level: tuple[int, float] = (0, 1.0)
    """(second, factor): until that second latencies are longer by the factor, as in a warm-up that is not over."""
    dirty: bool = False


def histogram() -> HdrHistogram:
    return HdrHistogram(1, 3_600_000_000_000, 3)


def recorded(values_ns: np.ndarray) -> HdrHistogram:
    """Return a histogram of these values."""
    filled = histogram()
    for value, times in zip(*np.unique(values_ns, return_counts=True), strict=True):
        filled.record_value(int(value), int(times))
    return filled


def make_run(directory: Path, shape: Shape | None = None) -> Path:
    """Fill ``directory`` and return it."""
    shape = shape or Shape()
    rng = np.random.default_rng(shape.seed)
    directory.mkdir(parents=True, exist_ok=True)
    phases: list[Phase] = []
    now = _phases_before(phases)
    for number in range(1, shape.repetitions + 1):
        now = _phase(phases, "start", now, 2.1, number)
        now = _phase(phases, "quiesce", now, 0.3, number)
        now = _phase(phases, "warm-up", now, 5.0, number)
        make_load(directory / "measure" / str(number), shape, rng, now + timedelta(seconds=0.2))
        now = _phase(phases, "measure", now, shape.seconds + 0.4, number, shape.outcome)
    if shape.outcome == "ok":
        if shape.profiled:
            now = _phase(phases, "start", now, 2.0)
            now = _phase(phases, "warm-up", now, 5.0)
            make_load(directory / "profile", shape, rng, now + timedelta(seconds=0.2), slower=1.12)
            make_profile(directory / "profile")
            make_tail(directory / "profile" / "tail.json", now + timedelta(seconds=0.2))
            now = _phase(phases, "profile", now, shape.seconds + 0.9)
        now = _phase(phases, "collect", now, 3.2)
        _phase(phases, "analyse", now, 0.4)
    if shape.timeline:
        make_timeline(directory / "timeline.csv", shape, phases, rng)
        make_evidence(directory / "machine.csv", shape, phases)
        make_uses(directory / "processes.jsonl", shape, phases)
    make_service_log(directory / "service.log", phases)
    manifest = Manifest(
        run_id=BEGAN.strftime("%Y%m%dT%H%M%SZ"),
        experiment=Experiment(
            name="stack-get",
            title=shape.title,
            resolved=resolved(shape),
            overrides={"warmup": "2s"},
            writes=shape.power,
        ),
        runtime="local",
        complete=shape.outcome == "ok" and shape.judged,
        phases=phases,
        environment=environment(shape),
    )
    if shape.judged:
        manifest.summary = summarise(directory, rate_offered_per_s=shape.rate)
        manifest.validity = judge(directory, manifest)
        manifest.artifacts = Artifact.all_below(directory, without=OWN_FILES)
    manifest.write(directory / "run.json")
    return directory


def make_load(directory: Path, shape: Shape, rng: np.random.Generator, began: datetime, slower: float = 1.0) -> None:
    """Write load.txt, load.json and latency.hlog of one execution of the load generator."""
    directory.mkdir(parents=True)
    total, net = histogram(), histogram()
    series: list[dict[str, Any]] = []
    lines = [
        "#[Histogram log format version 1.3]",
        f"#[StartTime: {began.timestamp():.3f} (seconds since epoch), {began.isoformat()}]",
        f"#[BaseTime: {began.timestamp():.3f} (seconds since epoch)]",
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"',
    ]
    requests = 0
    measured_ns: list[np.ndarray] = []
    for second in range(shape.seconds):
        net_ns = _latencies_ns(shape, rng, second, slower)
        values_ns = net_ns + _stopped_ns(shape, second, len(net_ns))
        interval = recorded(values_ns)
        of_server = interval if shape.stop is None else recorded(net_ns)
        total.add(interval)
        net.add(of_server)
        requests += len(values_ns)
        at_ns = values_at(interval, ("50", "99"))
        measured_ns.append(values_ns)
        lines.append(f"{second:.3f},1.000,{interval.get_max_value() / 1e6:.3f},{interval.encode().decode('ascii')}")
        series.append(
            {"t_s": float(second), "due": shape.rate, "backlog": 0, "requests": len(values_ns),
             "served": len(values_ns), "refused": 0, "errors": 0,
             "p50_us": at_ns["50"] / 1e3, "p99_us": at_ns["99"] / 1e3,
             "max_us": interval.get_max_value() / 1e3}
        )  # fmt: skip
    percentiles_us = {name: value_ns / 1e3 for name, value_ns in values_at(total, NAMES).items()}
    # The histogram would take a fifth of a second for the mean and the deviation.
    all_us = np.concatenate(measured_ns) / 1e3
    errors = {kind: shape.errors.get(kind, 0) for kind in ("connect", "read", "write", "timeout", "status")}
    latency = {
        "count": total.get_total_count(), "min": total.get_min_value() / 1e3, "mean": float(all_us.mean()),
        "stdev": float(all_us.std()), "max": total.get_max_value() / 1e3, "percentiles": percentiles_us,
    }  # fmt: skip
    lag = {name: shape.lag_us * (1 + i / 4) for i, name in enumerate(NAMES)}
    status = {"200": requests - errors["status"]}
    if errors["status"]:
        status["503"] = errors["status"]
    document = {
        "format": "lsmlab-load", "version": 1, "generator": {"name": "loadgen", "version": "0.1.0"},
        "url": "http://127.0.0.1:8080", "script": "get.lua", "threads": 1, "connections": 64,
        "duration_s": float(shape.seconds), "rate_per_s": float(shape.rate), "started_at": began.isoformat(),
        "requests_due": shape.rate * shape.seconds, "requests": requests, "bytes_read": requests * 560,
        "requests_per_s": requests / shape.seconds, "bytes_per_s": requests * 560 / shape.seconds,
        "elapsed_s": float(shape.seconds), "latency_us": latency,
        "uncorrected_us": {**latency, "percentiles": {k: v * 0.9 for k, v in percentiles_us.items()}}
        if shape.uncorrected else None,
        "send_lag_us": {"count": requests, "min": 0.4, "mean": shape.lag_us, "stdev": 1.0, "max": lag["100"],
                        "percentiles": lag},
        "served": requests - errors["status"], "refused": status.get("503", 0),
        "goodput_per_s": (requests - errors["status"]) / shape.seconds,
        "served_us": {**latency, "histogram": total.encode().decode()}, "lost": errors["read"],
        "read_errors": [{"reason": "malformed head", "count": errors["read"], "first": "name \"X : 1\""}]
        if errors["read"] else [],
        "net_latency_us": {**latency, "percentiles": {
            name: net_ns / 1e3 - shape.lag_us - shape.moved.get(name, 0.0) * 1e3
            for name, net_ns in values_at(net, NAMES).items()}},
        "by_operation": {"GET": latency}, "censored": {"count": 0, "from_percentile": None, "percentiles_us": {}},
        "generator_stops": [{"at_s": shape.stop[0], "length_us": shape.stop[1] * 1e6}] if shape.stop else [],
        "loops": [], "busiest_loop_share": shape.busiest_share, "failure": None,
        "errors": errors, "status": status,
        "unfinished": {"count": 0, "oldest_us": None}, "cpu_s": 0.21 * shape.seconds,
        "kept_schedule": {"verdict": True, "reasons": []}, "series": series,
    }  # fmt: skip
    if shape.json:
        (directory / "load.json").write_text(json.dumps(document, indent=1))
    text = "\n".join(lines) + "\n"
    if shape.hlog:
        (directory / "latency.hlog").write_text(text[:-40] if shape.cut_off_hlog else text)
    rows = [(value_ns / 1e3, percentile / 100, count) for value_ns, percentile, count in spectrum(total, 5)]
    (directory / "load.txt").write_text(
        print_report(
            Report(
                duration_s=shape.seconds,
                threads=1,
                requests=requests,
                elapsed_s=shape.seconds,
                bytes_read=requests * 560,
                requests_per_s=requests / shape.seconds,
                count=latency["count"],
                mean_us=latency["mean"],
                stdev_us=latency["stdev"],
                max_us=latency["max"],
                percentiles_us=percentiles_us,
                spectrum=rows,
                bad_status=errors["status"],
                errors=(errors["connect"], errors["read"], errors["write"], errors["timeout"]),
            )
        )
    )


def _latencies_ns(shape: Shape, rng: np.random.Generator, second: int, slower: float) -> np.ndarray:
    served = int(min(shape.rate, shape.capacity))
    base_us = np.exp(rng.normal(math.log(240 * slower), 0.35, served)) + rng.pareto(2.6, served) * 18
    if second < shape.level[0]:
        base_us *= shape.level[1]
    first, seconds, share = shape.hog.get("service", (0, 0, 0.0))
    if first <= second < first + seconds:
        base_us *= 1 + 4 * share
    if served < shape.rate:  # a backlog that grows: each request waits for all those before it
        behind_s = (shape.rate / served - 1) * (second + np.arange(served) / served)
        base_us += behind_s * 1e6
    elif second == shape.seconds // 2:  # a flush: a stall of 38 ms and its recovery
        stalled = np.arange(served) < served * 0.06
        base_us[stalled] += np.linspace(38_000, 0, int(stalled.sum()))
    if shape.acked_late:
        base_us[rng.random(served) < shape.acked_late] += 40_000 + rng.uniform(0, 4_000)
    return np.round(base_us * 1000).astype(np.int64)


def _stopped_ns(shape: Shape, second: int, count: int) -> np.ndarray:
    """Return how long each request of a second waited for a load generator that stood still."""
    waited_ns = np.zeros(count, dtype=np.int64)
    if shape.stop is not None and second == shape.stop[0]:
        late = int(count * shape.stop[1])
        waited_ns[:late] = np.linspace(shape.stop[1] * 1e9, 0, late).astype(np.int64)
    return waited_ns


def make_evidence(path: Path, shape: Shape, phases: list[Phase]) -> None:
    """Write machine.csv over all phases: the service on CPU 0, the load generator on CPU 1."""
    rng = np.random.default_rng(shape.seed + 10_000)
    rows = []
    skipped = 0
    for second in range(int((phases[-1].end - BEGAN).total_seconds())):
        end = BEGAN + timedelta(seconds=second + 1)
        phase = next((p for p in phases if p.start <= end < p.end), None)
        loaded = phase is not None and phase.name in ("measure", "profile")
        into = (end - phase.start).total_seconds() - 1 if phase is not None else 0.0
        if loaded and into > 4 and skipped < shape.missing_seconds:
            skipped += 1
            continue
        used = {"service": 0.62 * (1 + 0.06 * rng.standard_normal()), "loadgen": 0.21}
        disturbed = loaded and shape.episode[0] <= into < sum(shape.episode)
        stepped = shape.clock_step_s if loaded and into > 12 else 0.0
        row = {"time_s": end.timestamp() + stepped, "interval_s": 1.0 + 0.002 * rng.standard_normal()}
        for cpu, role in enumerate(("service", "loadgen")):
            own = used[role] if loaded else 0.01
            first, seconds, share = shape.hog.get(role, (0, 0, 0.0))
            foreign = 0.02 + 0.02 * abs(rng.standard_normal())
            if loaded and first <= into < first + seconds:
                foreign = share
            row[f"cpu{cpu}_busy_s"] = own + foreign
            row[f"cpu{cpu}_steal_s"] = shape.steal if disturbed else 0.0
            row[f"{role}_cpu_s"] = own
            row[f"{role}_run_delay_s"] = 0.01 + (foreign / 2 if foreign > 0.1 else 0.0)
            moved = role == "service" and loaded and shape.unpinned_from is not None and into >= shape.unpinned_from
            row[f"{role}_unpinned_s"] = 1.0 if moved else 0.0
            if role == "loadgen" and disturbed:
                row["loadgen_run_delay_s"] += shape.run_delay
            row[f"{role}_jit_s"] = shape.jit if role == "service" and loaded else 0.0
            row[f"{role}_throttled_s"] = shape.throttled if role == "service" and disturbed else 0.0
        row |= {"lab_cpu_s": 0.01, "memory_stall_s": shape.memory_stall if disturbed else 0.0, "sampler_cpu_s": 0.001}
        row |= _disk(shape, rng, second, loaded=loaded, disturbed=disturbed)
        rows.append(row)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def make_uses(path: Path, shape: Shape, phases: list[Phase]) -> None:
    """Write processes.jsonl: a line for each load."""
    lines = []
    for phase in phases:
        if phase.name in ("warm-up", "measure", "profile"):
            length_s = (phase.end - phase.start).total_seconds()
            cpu_s = {name: share * length_s for name, share in shape.others.items()}
            lines.append(json.dumps({"end_s": phase.end.timestamp(), "interval_s": length_s, "cpu_s": cpu_s}) + "\n")
    path.write_text("".join(lines), encoding="utf-8")


def _disk(shape: Shape, rng: np.random.Generator, second: int, *, loaded: bool, disturbed: bool) -> dict[str, float]:
    """Return the disk traffic of a second: what a service that syncs each PUT showed alone, and beside dd."""
    share = {"refault": shape.refaulting, "read": shape.reading} if disturbed else {"refault": 0.0, "read": 0.0}
    again, first = (8e7 * one for one in share.values())
    others = 1e6 * shape.others_mb if disturbed else 0.0
    written = 2e7 * (1 + 0.1 * rng.standard_normal()) * (0.5 if others else 1.0) if shape.power and loaded else 0.0
    flushed = [64e6 if shape.power and loaded and (second - later) % 10 == 0 else 0.0 for later in (0, 1)]
    syncing = 0.55 * (1 + 0.05 * rng.standard_normal()) if written else 0.0
    return {
        "service_disk_bytes": again + first + written + flushed[0],
        "lab_disk_bytes": 2e4,
        "disk_bytes": again + first + 1.18 * written + flushed[1] + others + 1e5,
        "reclaim_bytes": again,
        "refault_bytes": again + first / 2 + 4096.0 * int(rng.integers(0, 40)),
        "io_stall_s": min(1.0, syncing + sum(share.values()) + (0.2 if others > 1e8 else 0.0)),
    }


def make_timeline(path: Path, shape: Shape, phases: list[Phase], rng: np.random.Generator) -> None:
    """Write timeline.csv over all phases."""
    end_s = (phases[-1].end - BEGAN).total_seconds()
    service_from = cpu_s = gc_s = flushed = wal = 0.0
    rows: list[dict[str, str]] = []
    for second in range(int(end_s) + 1):
        at = BEGAN + timedelta(seconds=second)
        phase = next((p for p in phases if p.start <= at < p.end), None)
        name = phase.name if phase else ""
        values: dict[str, float] = {"t_s": float(second)}
        busy = {"warm-up": 0.6, "measure": 0.62, "profile": 0.71, "start": 0.8, "build": 1.6}.get(name, 0.05)
        busy *= 1 + 0.06 * rng.standard_normal()
        if name == "start":
            service_from = cpu_s = gc_s = flushed = wal = 0.0
        if name in ("start", "quiesce", "warm-up", "measure", "profile"):
            cpu_s += busy
            gc_s += 0.004 if name == "profile" or (name != "start" and second % 5 == 0) else 0.0
            wal += 1.1e6 * busy
            middle = (
                phase is not None and name in ("measure", "profile") and 10 <= (at - phase.start).total_seconds() < 12
            )
            compacted = (
                phase is not None
                and name == "measure"
                and shape.compaction is not None
                and (at - phase.start).total_seconds() >= shape.compaction[0]
            )
            values["lsmlab_compactions_total"] = float(compacted)
            values["lsmlab_compaction_seconds_total"] = shape.compaction[1] if shape.compaction and compacted else 0.0
            flushed += 32e6 if middle or (shape.compacts and name == "measure") else 0.0
            service_from += 1
            values |= {
                "process_cpu_seconds_total": cpu_s, "lsmlab_queue_depth": max(0.0, rng.normal(2, 2)),
                "lsmlab_memtable_bytes": 1.1e6 * (service_from % 21), "lsmlab_flush_bytes_total": flushed,
                "lsmlab_compaction_bytes_total": 0.0, "lsmlab_tables": 8 + (flushed > 0), "lsmlab_wal_bytes_total": wal,
                'jvm_gc_collection_seconds_sum{gc="G1 Young Generation"}': gc_s,
                "jvm_safepoint_seconds_total": 1.5 * gc_s,
                'jvm_memory_used_bytes{area="heap"}': 1.5e8 + 4e7 * (service_from % 5),
                "lsmlab_write_stall_seconds_total": 0.0, "lsmlab_write_amplification": 1.0 + flushed / 64e6,
                "lsmlab_read_amplification": 1.25, "lsmlab_space_amplification": 1.1,
                **stages(service_from * shape.rate),
            }  # fmt: skip
        rows.append({"time": at.isoformat().replace("+00:00", "Z"), **{k: f"{v:.10g}" for k, v in values.items()}})
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)


def _phases_before(phases: list[Phase]) -> datetime:
    now = _phase(phases, "preflight", BEGAN, 1.2)
    now = _phase(phases, "build", now, 6.0)
    return _phase(phases, "dataset", now, 0.1)


def _phase(  # noqa: PLR0917
    phases: list[Phase], name: str, start: datetime, seconds: float, number: int | None = None, outcome: Outcome = "ok"
) -> datetime:
    end = start + timedelta(seconds=seconds)
    detail = "interrupted by Ctrl-C" if outcome == "interrupted" else ""
    phases.append(Phase(name=name, start=start, end=end, outcome=outcome, repetition=number, detail=detail))
    return end
