"""The parts of a runtime beside the service and its load.

A runtime holds one of each. `Monitoring` is optional: it does nothing here, and a runtime overrides what it has.
"""

from __future__ import annotations

import abc

from lab.cpu_plan import CpuPlan
from lab.progress import Progress
from lab.runtime.service import Service
from lab.runtime.specs import HAVE_OWN_DATASETS, Choice, Ports, ProfileSpec


class Monitoring:
    """Prometheus and what belongs to it, for one run. A run never fails because monitoring is missing."""

    def up(self, plan: CpuPlan, ports: Ports, progress: Progress) -> None:
        """Start what is installed; tell `progress` what is missing. Never raises RunError."""

    def running(self) -> bool:
        """Return whether any of it runs: started here, or kept up across runs."""
        return False

    def await_scrape(self, published_s: float) -> None:
        """Wait until what the lab published at this time.monotonic() has been scraped, if anything scrapes it."""

    def down(self) -> None:
        """End what `up` started. Idempotent."""


class Profiler(abc.ABC):
    """Records a service while it is under load. One recording of a service at a time."""

    @abc.abstractmethod
    def start(self, spec: ProfileSpec, service: Service, limit_s: float) -> None:
        """Begin one recording of all events, which ends after `limit_s` even if the lab dies before it."""

    @abc.abstractmethod
    def stop(self, spec: ProfileSpec, service: Service) -> None:
        """End the recording; the files of RECORDED in `spec.out` are complete when this returns."""

    @abc.abstractmethod
    def convert(self, spec: ProfileSpec, progress: Progress) -> None:
        """Make flame graphs, heatmaps, pictures and categories.json from the recording. The service may have ended.

        May be called from a second thread.
        """


class ServiceCatalogue(abc.ABC):
    """The variants, engines and table format of the built service. RunError if it is not built."""

    def variants(self) -> list[Choice]:
        """Return the server variants."""
        return self._choices("variants")

    def engines(self) -> list[Choice]:
        """Return the storage engines."""
        return self._choices("engines")

    def table_format(self, engine: str | None = None) -> str:
        """Return the versions of the table format: they change when tables written earlier cannot be read any more.

        Without `engine`, those of `lsm`. The versions of another engine begin with its name: `textbook-1`.
        """
        names = [version.name for version in self._choices("table-format")]
        owners = [next((own for own in HAVE_OWN_DATASETS if name.startswith(f"{own}-")), None) for name in names]
        return ",".join(name for name, owner in zip(names, owners, strict=True) if owner == engine)

    @abc.abstractmethod
    def _choices(self, command: str) -> list[Choice]:
        """Return what the service's command `variants`, `engines` or `table-format` lists."""
