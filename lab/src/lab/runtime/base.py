"""The `Runtime` interface: everything a run asks of the place where its processes live.

A run never knows which runtime it is on. It calls, in this order and from the main thread:

    preflight → build → make_dataset (if it is not cached) → monitoring.up
    → for each repetition: start_service → Service.wait_ready → load (warm-up, once or twice) → load (measured)
      → Service.stop
    → for the profiled one: … profiler.start → load → profiler.stop → Service.stop → profiler.convert
    → facts → monitoring.down → close

A comparison runs two services at a time: the second one's `ServiceSpec` says `beside`, and `load` is given the service
that it loads.

Rules for an implementation
- All paths are absolute paths on the host. When a method returns, the files it promises are there and belong to the
  caller. The runtime itself moves files into and out of containers.
- A failure is a `RunError` (or a `MissingToolError`) whose `log_tail` holds the end of the log of what failed.
- `KeyboardInterrupt` may be raised in any method; it is passed on. `close()` then ends everything that this object
  ever started, waits for it, and may be called at any moment, twice, and after a failure of any other method.
- Whatever outlives a lab that was killed (kill -9) is ended by `preflight()` of the next run.
- `profiler.convert` and `facts` may be called from a second thread while the main thread does something else.
"""

from __future__ import annotations

import abc
from pathlib import Path
from typing import Any

from lab.cpu_plan import CpuPlan
from lab.errors import RunError
from lab.experiment.dataset_spec import DatasetSpec
from lab.manifest import Environment
from lab.paths import Checkout
from lab.progress import Progress
from lab.runtime.instruments import Monitoring, Profiler, Service, ServiceCatalogue
from lab.runtime.specs import (
    LIVENESS_S,
    SET_BY_RUNTIME,
    Check,
    Choice,
    Facts,
    LoadResult,
    LoadSpec,
    Ports,
    ProfileSpec,
    ServiceSpec,
    Settings,
)

__all__ = [
    "LIVENESS_S",
    "SET_BY_RUNTIME",
    "Check",
    "Choice",
    "DatasetSpec",
    "Elsewhere",
    "Facts",
    "LoadResult",
    "LoadSpec",
    "Monitoring",
    "Ports",
    "ProfileSpec",
    "Profiler",
    "Runtime",
    "Service",
    "ServiceCatalogue",
    "ServiceSpec",
    "Settings",
]


class Elsewhere(abc.ABC):
    """What a runtime adds that runs service and load on other machines, where they use no CPU of this one.

    The rest of the lab knows of such a runtime only by this and by the section `cluster` of run.json.
    """

    @abc.abstractmethod
    def prepare(self, name: str, threads: int, connections: int, data_bytes: int) -> None:
        """Learn what is going to run; called before a run's preflight. Starts nothing.

        `name` is the experiment's; `threads` and `connections` are its load's, `data_bytes` is the size of its dataset.
        """

    @abc.abstractmethod
    def keep_dataset(self, spec: DatasetSpec, name: str, log: Path, progress: Progress) -> dict[str, Any]:
        """Make a dataset where the service runs, unless it is there by that name; later starts get it.

        Returns what load-dataset printed.
        """

    @abc.abstractmethod
    def describe(self, environment: Environment) -> None:
        """Replace this machine in the fingerprint by those of the run."""


class Runtime(abc.ABC):
    """One place where processes run.

    Made for one run, as `LocalRuntime(checkout)` for example; `close()` ends it.
    """

    name: str
    catalogue: ServiceCatalogue
    profiler: Profiler
    monitoring: Monitoring
    elsewhere: Elsewhere | None = None
    """What a run on other machines needs besides; None for this machine."""
    custom_loadgen: str = ""
    """The load generator that replaces the lab's own: a path, or the name of an image. Empty for the lab's own.

    The lab's own is built in any case, for `LoadSpec.own`.
    """

    @abc.abstractmethod
    def __init__(self, checkout: Checkout) -> None:
        """Make it for one run in one checkout; starts nothing."""

    @classmethod
    @abc.abstractmethod
    def checks(cls) -> list[Check]:
        """Return what this machine has and lacks for this runtime, for `lab check`. Starts nothing; under 5 s."""

    @abc.abstractmethod
    def preflight(self, plan: CpuPlan, ports: Ports, progress: Progress) -> None:
        """Raise if a run cannot work here: a tool is missing, a port is taken. Removes what dead runs left."""

    @abc.abstractmethod
    def build(self, log: Path, progress: Progress, *, service_only: bool = False) -> None:
        """Bring service, load generator and profiler up to date. Under a second if nothing changed (local)."""

    def build_tools(self, log: Path, progress: Progress) -> None:
        """Bring everything but the lab's own service up to date, for a service that is not the lab's own."""
        raise RunError(
            f"RUNTIME={self.name}: a service with a command or a jar runs as a process of this machine",
            "Set RUNTIME=local, or leave RUNTIME out",
        )

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
        """Return the URL of the load generator's metrics while `load` runs against `service`; None: it has none."""

    @abc.abstractmethod
    def loadgen_pid(self) -> int | None:
        """Return the load generator's pid in this process's /proc while `load` runs, or None."""

    @abc.abstractmethod
    def facts(self) -> Facts:
        """Return image digests and the versions of tools and libraries."""

    @abc.abstractmethod
    def close(self) -> list[str]:
        """End everything this object started. Idempotent; never raises; at most 10 s here, 40 s elsewhere.

        Returns one line for each thing that may still be running, with how to end it.
        """
