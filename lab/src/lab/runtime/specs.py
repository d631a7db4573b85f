"""The inputs and results of a runtime, as plain values."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lab.errors import InputError
from lab.experiment.service import ServiceSettings
from lab.units import duration_word

Settings = Mapping[str, str | int | float | bool]
"""Keys and values of service.yaml as docs/contracts.md lists them, machine units (`flush_threshold_bytes`)."""

SET_BY_RUNTIME = frozenset({"data_host", "data_port", "admin_host", "admin_port", "data_dir"})
"""The keys of service.yaml that no experiment may set: the runtime does."""

LIVENESS_S = 0.5
"""Interval at which a runtime checks, under load, that the service is still running."""


@dataclass(frozen=True)
class Ports:
    """The ports on 127.0.0.1 that a run takes. 0: a free one (local runtime only)."""

    data: int = 8080
    admin: int = 8081
    loadgen_metrics: int = 9101


@dataclass(frozen=True)
class Check:
    """One line of `lab check`. `command` installs what is missing on this kind of system; empty if nothing is."""

    name: str
    ok: bool
    detail: str
    command: str = ""
    required: bool = True


@dataclass(frozen=True)
class Choice:
    """A word of a parameter that the built service offers."""

    name: str
    summary: str


@dataclass(frozen=True)
class ServiceSpec:
    """One start of the service.

    `work_dir` is an existing directory of this start alone; `work_dir/data` holds the linked dataset (or is empty). The
    runtime writes `work_dir/service.yaml` from `settings` and its own hosts, ports and data_dir, and appends the
    service's stdout and stderr to `log`. A service `beside` another one, which runs already, takes free ports. `root`
    is the checkout whose built service is started, None for this one (local runtime only). `declared` is the
    declaration of a service that is not the lab's own (local runtime only).
    """

    work_dir: Path
    settings: Settings
    jvm_flags: tuple[str, ...]
    cpus: tuple[int, ...]
    log: Path
    beside: bool = False
    root: Path | None = None
    declared: ServiceSettings | None = None

    @property
    def data_dir(self) -> Path:
        """The store, on the host."""
        return self.work_dir / "data"


@dataclass(frozen=True)
class LoadSpec:
    """One execution of the load generator.

    `script` is a path on the host; without one, each request is a GET of `path`. `words` reach the script's init(args).
    `out` is an existing directory: the runtime leaves `load.txt` (stdout), `load.json` and `latency.hlog` in it, and
    stderr in `load.err` if there was any. `expect` are statuses that count as served besides 200 to 399. With `polling`
    the lab's own load generator polls while it waits for a request to be due; it applies the load for `lead_in_s`
    seconds more, before the others, and reports nothing of them. With `own` it is the lab's own even if another one
    replaces it.
    """

    script: Path | None
    rate_per_s: int
    threads: int
    connections: int
    duration_s: float
    words: tuple[str, ...]
    out: Path
    cpus: tuple[int, ...]
    timeout_s: float | None = None
    expect: tuple[int, ...] = ()
    polling: bool = False
    lead_in_s: float = 0.0
    own: bool = False
    path: str = ""

    def wrk2_words(self, script: str) -> list[str]:
        """Return the options that wrk2 has too; `script` is the script's path as the load generator sees it."""
        words = [f"-t{self.threads}", f"-c{self.connections}", f"-d{duration_word(self.duration_s)}"]
        words += [f"-R{self.rate_per_s}", "-L", *(["-s", script] if self.script else [])]
        return words if self.timeout_s is None else [*words, "--timeout", duration_word(self.timeout_s)]

    def own_words(self) -> list[str]:
        """Return the options of the lab's own load generator that wrk2 lacks."""
        outputs = ["--json", str(self.out / "load.json"), "--hdr-log", str(self.out / "latency.hlog")]
        return [*outputs, *self.own_load_words(polling=self.polling)]

    def own_load_words(self, *, polling: bool) -> list[str]:
        """Return the options of the lab's own load generator that say how to apply the load."""
        words = ["--expect", ",".join(map(str, self.expect))] if self.expect else []
        if self.lead_in_s:
            words += ["--warmup", duration_word(self.lead_in_s)]
        return [*words, *(["--idle", "hybrid"] if polling else ["--high-priority"])]


@dataclass(frozen=True)
class LoadResult:
    """The end of the load generator; `exit_code` as in docs/contracts.md (0 the run took place)."""

    exit_code: int
    error_tail: str = ""


RECORDED = ("profile.jfr", "recorder.json")
"""Files that `profile stop` leaves in its directory: the recording, and the numbers of samples taken and lost."""


@dataclass(frozen=True)
class ProfileSpec:
    """One recording. `out` is an existing directory on the host that receives the files of the run's profile/.

    `depth` is the number of frames kept of a stack; None is the profiler's own. `pprof` asks for `<event>.pprof` too.
    `categories` are rules that replace the profiler's own.
    """

    out: Path
    events: tuple[str, ...]
    interval: str
    title: str
    cpus: tuple[int, ...]
    depth: int | None = None
    pprof: bool = False
    categories: Path | None = None

    def start_words(self, limit_s: float) -> list[str]:
        """Return the options of `profile start`: what is recorded, and `limit_s`, after which it ends by itself."""
        depth = [] if self.depth is None else ["--depth", str(self.depth)]
        limit = ["--timeout", f"{math.ceil(limit_s)}s"]  # in seconds: `profile` knows no longer unit
        return ["--events", ",".join(self.events), "--interval", self.interval, *depth, *limit]

    def convert_words(self) -> list[str]:
        """Return the options of `profile convert` that say what is drawn."""
        pprof = ["--pprof"] if self.pprof else []
        rules = [] if self.categories is None else ["--categories", str(self.categories)]
        return ["--title", self.title, "--events", ",".join(self.events), *pprof, *rules]

    def latency_words(self) -> list[str]:
        """Return the option of `profile convert` that names the repetition's latency log, if there is one."""
        log = self.out / "latency.hlog"
        return ["--latency", str(log)] if log.is_file() else []


@dataclass(frozen=True)
class Facts:
    """Facts about the environment that only the runtime knows, for run.json."""

    images: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def loadgen_program() -> Path | None:
    """Return the program that `LOADGEN` names, absolute; None for the lab's own."""
    named = os.environ.get("LOADGEN", "").strip()
    return Path(named).expanduser().absolute() if named else None


def check_loadgen_program(program: Path | None) -> None:
    """Raise `InputError` if `program` cannot be run."""
    if program is None or (program.is_file() and os.access(program, os.X_OK)):
        return
    what = "is no executable file" if program.exists() else "does not exist"
    raise InputError(f"LOADGEN={program}: {what}", "It must be a program that takes wrk2's command line")
