"""A started service, as a run holds it."""

from __future__ import annotations

import abc


class Service(abc.ABC):
    """A started service. `admin_url` and `data_url` are for this process; the load generator may need other ones."""

    admin_url: str
    data_url: str

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
    def kill(self) -> None:
        """End it at once (SIGKILL). Idempotent."""

    @abc.abstractmethod
    def log_tail(self, lines: int = 30) -> str:
        """Return the last lines of its log."""
