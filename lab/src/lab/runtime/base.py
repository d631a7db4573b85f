"""The `Runtime` interface: everything a run asks of the place where its processes live.

A run never knows which runtime it is on. It calls, in this order and from the main thread:

    preflight → build → make_dataset (where it is not cached) → monitoring_up
    → for each repetition: start_service → Service.wait_ready → load (warm-up) → load (measured) → Service.stop
    → for the profiled one: … start_profile → load → stop_profile → Service.stop → convert_profile
    → facts → monitoring_down → close

A comparison has two services at a time: the second one's `ServiceSpec` says `beside`, and `load` names the one meant.

Rules for an implementation
- All paths it is given are absolute paths on the host; what is to be in them is there, owned by the caller, when the
  method returns. How they get into and out of a container is its own affair.
- A failure is a `RunError` (or a `MissingToolError`) whose `log_tail` holds the end of the log of what failed.
- `KeyboardInterrupt` may be raised in any method; it is passed on. `close()` then ends everything that this object
  ever started, waits for it, and may be called at any moment, twice, and after a failure of any other method.
- Nothing started here survives the lab's own death, kill -9 included, longer than `preflight()` of the next run.
- `convert_profile` and `facts` may be called from a second thread while the main thread does something else.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lab.cpu_plan import CpuPlan
from lab.errors import InputError
from lab.manifest import Cluster
from lab.paths import Checkout
from lab.progress import Progress

Settings = Mapping[str, str | int | float | bool]
"""Keys and values of service.yaml as docs/contracts.md lists them, machine units (`flush_threshold_bytes`)."""

SET_BY_RUNTIME = frozenset({"data_host", "data_port", "admin_host", "admin_port", "data_dir"})
"""The keys of service.yaml that no experiment may set: the runtime does."""

LIVENESS_S = 0.5
"""How often a runtime looks, under load, whether the service is still there."""


@dataclass(frozen=True)
class Ports:
    """The ports on 127.0.0.1 that a run takes. 0: a free one (local runtime only)."""

    data: int = 8080
    admin: int = 8081
    loadgen_metrics: int = 9101


@dataclass(frozen=True)
class Check:
    """One line of `lab doctor`. `command` gets what is missing on this kind of system; empty where nothing is."""

    name: str
    ok: bool
    detail: str
    command: str = ""
    required: bool = True


@dataclass(frozen=True)
class Choice:
    """A variant or an engine that the built service offers."""

    name: str
    summary: str


@dataclass(frozen=True)
class DatasetSpec:
    """A dataset as experiments/datasets.yaml declares it. What is None has load-dataset's own default."""

    name: str
    pairs: int
    value_bytes: int
    seed: int
    tables: int
    overlapping: bool | None = None
    unique_percent: int | None = None
    block_bytes: int | None = None
    bloom_bits_per_key: int | None = None
    compression: str | None = None

    def declaration(self) -> dict[str, str | int | bool]:
        """Return what determines the dataset's bytes: all that is declared, without the name."""
        return {key: value for key, value in asdict(self).items() if key != "name" and value is not None}

    def words(self) -> list[str]:
        """Return the options of load-dataset."""
        words = []
        for key, value in self.declaration().items():
            option = f"--{key.replace('_', '-')}"
            if not isinstance(value, bool):
                words += [option, str(value)]
            elif value:
                words.append(option)
        return words


@dataclass(frozen=True)
class ServiceSpec:
    """How to start the service once.

    `work_dir` is an existing directory of this start alone; `work_dir/data` holds the linked dataset (or is empty).
    The runtime writes `work_dir/service.yaml` from `settings` and its own hosts, ports and data_dir, and appends the
    service's stdout and stderr to `log`. A service `beside` another one, which runs already, takes free ports.
    `root` is the checkout whose built service is started, None for this one (local runtime only).
    `dataset` is the name of a dataset that the runtime keeps itself, to be put into `data`; empty for none.
    """

    work_dir: Path
    settings: Settings
    jvm_flags: tuple[str, ...]
    cpus: tuple[int, ...]
    log: Path
    beside: bool = False
    root: Path | None = None
    dataset: str = ""

    @property
    def data_dir(self) -> Path:
        """The store, on the host."""
        return self.work_dir / "data"


@dataclass(frozen=True)
class LoadSpec:
    """One execution of the load generator.

    `script` is a path on the host. `words` reach the script's init(args). `out` is an existing directory: the runtime
    leaves `load.txt` (stdout), `load.json` and `latency.hlog` in it, and stderr in `load.err` where there was any.
    `expect` are statuses that count as served besides 200 to 399. With `polling` the lab's own load generator polls
    while it waits for a request to be due.
    """

    script: Path
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

    def own_words(self) -> list[str]:
        """Return the words for the lab's own load generator alone: its outputs, and what it can do beyond wrk2."""
        words = ["--json", str(self.out / "load.json"), "--hdr-log", str(self.out / "latency.hlog")]
        if self.expect:
            words += ["--expect", ",".join(map(str, self.expect))]
        if self.polling:
            words += ["--idle", "hybrid"]
        return words


@dataclass(frozen=True)
class LoadResult:
    """How the load generator ended; `exit_code` as in docs/contracts.md (0 the run took place)."""

    exit_code: int
    error_tail: str = ""


@dataclass(frozen=True)
class ProfileSpec:
    """One recording. `out` is an existing directory on the host that receives the files of the run's profile/."""

    out: Path
    events: tuple[str, ...]
    interval: str
    title: str
    cpus: tuple[int, ...]

    def latency_words(self) -> list[str]:
        """Return the option of `profile convert` that names the repetition's latency log, if there is one."""
        log = self.out / "latency.hlog"
        return ["--latency", str(log)] if log.is_file() else []


@dataclass(frozen=True)
class Facts:
    """What only the runtime knows of the environment, for run.json."""

    images: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    cluster: Cluster | None = None


class Service(abc.ABC):
    """A started service. `admin_url` is for this process; the load generator's own URL is the runtime's affair."""

    admin_url: str
    data_url: str

    @property
    @abc.abstractmethod
    def pid(self) -> int | None:
        """The JVM's pid in this process's /proc, or None where it cannot be seen from here."""

    @abc.abstractmethod
    def alive(self) -> bool:
        """Whether the process still runs. Cheap: called several times a second."""

    @abc.abstractmethod
    def wait_ready(self, timeout_s: float) -> None:
        """Return once the service accepts requests; RunError with the log's end when it dies or takes too long."""

    @abc.abstractmethod
    def stop(self, timeout_s: float = 20.0) -> int | None:
        """Ask it to end (SIGTERM), wait, kill it after `timeout_s`; return its exit code. Idempotent."""

    @abc.abstractmethod
    def kill(self) -> None:
        """End it at once (SIGKILL). Idempotent."""

    @abc.abstractmethod
    def log_tail(self, lines: int = 30) -> str:
        """Return the last lines of its log."""


class Runtime(abc.ABC):
    """One place where processes run.

    Made for one run, as `LocalRuntime(checkout)` for example; `close()` ends it.
    """

    name: str
    remote: bool = False
    """Service and load run on other machines, so no CPU of this one is theirs.

    Datasets are made and kept there, too: `make_dataset` returns what it always returns but leaves its directory alone,
    whose name is the dataset's, and `ServiceSpec.dataset` names one.
    """
    custom_loadgen: str = ""
    """The load generator that takes the place of the lab's own, as a path or the name of an image; empty: none does."""

    @abc.abstractmethod
    def __init__(self, checkout: Checkout) -> None:
        """Make it for one run in one checkout; starts nothing."""

    @classmethod
    @abc.abstractmethod
    def checks(cls) -> list[Check]:
        """Return what this machine has and lacks for this runtime, for `lab doctor`. Starts nothing; under 5 s."""

    def prepare(self, name: str, threads: int, connections: int, data_bytes: int) -> None:  # noqa: B027 - most need not know
        """Take note of what is going to run; called before a run's preflight. Starts nothing.

        `name` is the experiment's; `threads` and `connections` are its load's, `data_bytes` is the size of its dataset.
        """

    @abc.abstractmethod
    def preflight(self, plan: CpuPlan, ports: Ports, progress: Progress) -> None:
        """Raise where a run cannot work here: a tool is missing, a port is taken. Removes stale leftovers."""

    @abc.abstractmethod
    def build(self, log: Path, progress: Progress) -> None:
        """Bring service, load generator and profiler up to date. Under a second when nothing changed (local)."""

    @abc.abstractmethod
    def build_service(self, log: Path, progress: Progress) -> None:
        """Bring the service alone up to date."""

    @abc.abstractmethod
    def variants(self) -> list[Choice]:
        """Return the server variants of the built service."""

    @abc.abstractmethod
    def engines(self) -> list[Choice]:
        """Return the engines of the built service."""

    @abc.abstractmethod
    def table_format(self) -> str:
        """Name the table format of the built service: a word that changes when old tables cannot be read any more."""

    @abc.abstractmethod
    def make_dataset(self, spec: DatasetSpec, directory: Path, log: Path, progress: Progress) -> dict[str, Any]:
        """Write the dataset into `directory` (absent; its parent exists) and return what load-dataset printed."""

    @abc.abstractmethod
    def start_service(self, spec: ServiceSpec) -> Service:
        """Start the service and return at once."""

    @abc.abstractmethod
    def load(self, spec: LoadSpec, service: Service, progress: Progress) -> LoadResult:
        """Run the load generator against the service until it ends.

        Returns early, with the generator ended, when the service dies. On KeyboardInterrupt the generator is asked to
        end (SIGINT) so that it still writes its report, then killed.
        """

    @abc.abstractmethod
    def loadgen_metrics_url(self, service: Service) -> str | None:
        """Return the load generator's /metrics while `load` runs against a service; None: it has none."""

    @abc.abstractmethod
    def loadgen_pid(self) -> int | None:
        """Return the load generator's pid in this process's /proc while `load` runs, or None."""

    @abc.abstractmethod
    def start_profile(self, spec: ProfileSpec, service: Service) -> None:
        """Begin one recording of all events; the JVM writes `spec.out/profile.jfr`."""

    @abc.abstractmethod
    def stop_profile(self, spec: ProfileSpec, service: Service) -> None:
        """End the recording; `spec.out/profile.jfr` is complete when this returns."""

    @abc.abstractmethod
    def convert_profile(self, spec: ProfileSpec, progress: Progress) -> None:
        """Make flame graphs, heatmaps, pictures and categories.json from the recording. The service may be gone."""

    @abc.abstractmethod
    def monitoring_up(self, progress: Progress) -> None:
        """Start Prometheus and what belongs to it where they are to be had; never a reason for a run to fail."""

    @abc.abstractmethod
    def monitoring_down(self) -> None:
        """End what `monitoring_up` of this run started."""

    def stack_up(self, progress: Progress) -> dict[str, str]:
        """Start the monitoring so that it stays across runs (`lab up`); return addresses by name."""
        raise InputError(f"the {self.name} runtime has no stack that stays up across runs", "RUNTIME=docker has one")

    def stack_down(self) -> None:
        """End it, whoever started it (`lab down`); RunError while a run goes on in it."""
        raise InputError(f"the {self.name} runtime has no stack that stays up across runs", "RUNTIME=docker has one")

    @abc.abstractmethod
    def facts(self) -> Facts:
        """Return image digests, versions and the like."""

    @abc.abstractmethod
    def close(self) -> list[str]:
        """End everything this object started. Idempotent; never raises; at most 10 s, in a cluster 40 s.

        Returns what may still be running, a line each with how to end it; nothing where everything has ended.
        """
