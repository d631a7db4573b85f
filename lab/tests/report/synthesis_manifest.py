"""The experiment and the machine of a made-up run, for its run.json."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lab.manifest import Cpu, CpuPlan, Dataset, Environment, Git, Tool

if TYPE_CHECKING:
    from report.synthesis import Shape

REFERENCE = {
    "source": "a published report",
    "requests_per_s": 1998.2,
    "latency_ms": {"50": 1.6, "99": 8.33, "100": 29.9},
    "shares": [
        {"event": "cpu", "categories": ["queue", "lock"], "what": "synchronisation", "low": 0.2, "high": 0.25},
        {"event": "lock", "categories": ["queue"], "what": "the queue", "low": 0.7, "high": None},
    ],
}


def resolved(shape: Shape) -> dict[str, Any]:
    found: dict[str, Any] = {
        "title": shape.title,
        "question": "What does a pool of workers cost a read that hits?",
        "service": {"variant": "stack", "engine": "lsm", "workers": 8, "queue_capacity": 1024, "jvm": [],
                    **({"durability": "power"} if shape.power else {})},
        "dataset": "pairs-2m",
        "load": {"script": "put.lua" if shape.power else "get.lua",
                 "rate_per_s": shape.rate, "threads": 1, "connections": 64,
                 "duration_s": float(shape.seconds), "warmup_s": 5.0, "args": {}},
        "repeat": shape.repetitions,
    }  # fmt: skip
    if shape.profiled:
        found["profile"] = {"events": ["cpu", "alloc", "lock"], "interval_s": 0.0005}
    if shape.reference:
        found["reference"] = REFERENCE
    return found


def environment(shape: Shape) -> Environment:
    return Environment(
        cpu=Cpu(model="AMD EPYC 7R13", logical=2, cores=1, threads_per_core=2, hypervisor="Amazon EC2"),
        kernel="6.1.0-32-amd64",
        os="Debian GNU/Linux 13 (trixie)",
        memory_bytes=8 << 30,
        jvm="25.0.1+8 (OpenJDK 64-Bit Server VM, Debian)",
        jvm_flags=["-Xmx2g", "-XX:+UseG1GC", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"],
        gc="G1",
        libraries={"one-nio": "2.2.0", "async-profiler": "4.6"},
        native_transport=True,
        profiling_engine="perf_events" if shape.profiled else None,
        cpu_plan=CpuPlan(service=[0], loadgen=[1], other=[1]),
        git=Git(commit="3f1c0ffee3f1c0ffee3f1c0ffee3f1c0ffee3f1c", dirty=shape.dirty),
        dataset=Dataset(name="pairs-2m", hash="5d1f8a0c22b7"),
        load_generator=Tool(name="loadgen", version="0.1.0"),
    )
