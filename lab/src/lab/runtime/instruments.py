"""The parts of a runtime: a started service, and what is beside it and its load.

A runtime holds one of each of the others. `Monitoring` is optional: it does nothing here, and a runtime overrides what
it has.
"""

from __future__ import annotations

import abc
import contextlib
import json
from pathlib import Path

from lab.cpu_plan import CpuPlan
from lab.errors import RunError
from lab.experiment.dataset_spec import HAVE_OWN_DATASETS
from lab.progress import Progress
from lab.runtime.specs import Choice, Ports, ProfileSpec


class Service(abc.ABC):
    """A started service. `admin_url` and `data_url` are for this process; the load generator may need other ones."""

    admin_url: str
    data_url: str

    @property
    def metrics_url(self) -> str | None:
        """The service's metrics, None if it has none."""
        return f"{self.admin_url}/metrics"

    @property
    def quiesce_url(self) -> str | None:
        """A POST to this returns once the service rests; None if it has none."""
        return f"{self.admin_url}/quiesce"

    @property
    def config_url(self) -> str | None:
        """The service's own view of its configuration; None if it has none."""
        return f"{self.admin_url}/config"

    @property
    def is_jvm(self) -> bool:
        """Whether it can be profiled."""
        return True

    @property
    @abc.abstractmethod
    def pid(self) -> int | None:
        """The JVM's pid in this process's /proc, or None if the process is not visible here."""

    @abc.abstractmethod
    def alive(self) -> bool:
        """Whether the process still runs. Cheap: called several times a second."""

    @abc.abstractmethod
    def wait_ready(self, timeout_s: float) -> None:
        """Return once the service accepts requests; RunError with the log's end if it dies or takes too long."""

    @abc.abstractmethod
    def stop(self, timeout_s: float = 20.0) -> int | None:
        """Ask it to end (SIGTERM), wait, kill it after `timeout_s`; return its exit code. Idempotent."""

    @abc.abstractmethod
    def log_tail(self, lines: int = 30) -> str:
        """Return the last lines of its log."""


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
    """What the built service lists: the words of its parameters, and its table format. RunError if it is not built.

    An answer takes a JVM half a second, or a container, and a run asks five times. So the answers are kept in the file
    `cache`, if one is given, for as long as the same service is built. Not for use by two threads at once.
    """

    def __init__(self, cache: Path | None = None) -> None:
        self._cache = cache

    def listed(self, parameter: str) -> list[Choice]:
        """Return the words of a parameter that the service lists itself, by its command `variants` or `engines`."""
        return self._choices(f"{parameter}s")

    def table_format(self, engine: str | None = None) -> str:
        """Return the versions of the table format: they change when tables written earlier cannot be read any more.

        Without `engine`, those of `lsm`. The versions of another engine begin with its name: `textbook-1`.
        """
        names = [version.name for version in self._choices("table-format")]
        owners = [next((own for own in HAVE_OWN_DATASETS if name.startswith(f"{own}-")), None) for name in names]
        return ",".join(name for name, owner in zip(names, owners, strict=True) if owner == engine)

    def _choices(self, command: str) -> list[Choice]:
        """Return what the service's command `variants`, `engines` or `table-format` lists."""
        built = self._built(command)
        known: dict[str, list[tuple[str, str]]] = {}
        if self._cache is not None:
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                document = json.loads(self._cache.read_text(encoding="utf-8"))
                known = document["answers"] if document["built"] == built else {}
        if command not in known:
            output = self._ask(command)
            try:
                known[command] = [(str(entry["name"]), str(entry["summary"])) for entry in json.loads(output)]
            except (ValueError, TypeError, KeyError) as error:
                what = f"the service's answer to '{command} --json' cannot be read: {output[:200]!r}"
                raise RunError(what) from error
            if self._cache is not None:
                self._cache.parent.mkdir(parents=True, exist_ok=True)
                self._cache.write_text(json.dumps({"built": built, "answers": known}), encoding="utf-8")
        return [Choice(name, summary) for name, summary in known[command]]

    @abc.abstractmethod
    def _built(self, command: str) -> str:
        """Return what names the built service, a digest or the like. RunError if there is none, for `command`."""

    @abc.abstractmethod
    def _ask(self, command: str) -> str:
        """Return the output of the service's command with `--json`."""
