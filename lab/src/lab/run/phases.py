"""Runs phases one after another: each has a limit, is shown, and is recorded with its outcome."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from lab.cpu_plan import CpuPlan
from lab.errors import LabError
from lab.manifest import Outcome, Phase, State
from lab.run.show import Show
from lab.run.signals import time_limit
from lab.whole_file import write_whole


class ActivePhase:
    """An active phase.

    `detail` goes into run.json and onto the phase's line; `remarks` too, on lines of their own: they are worth knowing,
    although the phase did not fail. `skip` marks that there was nothing to do.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.detail = ""
        self.remarks: list[str] = []
        self.skipped = False

    def skip(self, why: str) -> None:
        """Mark that this phase had nothing to do."""
        self.skipped, self.detail = True, why


class Phases:
    """The phases of one run so far. `on_change` is called when one begins (its name) and when one is over (None)."""

    def __init__(self, show: Show, on_change: Callable[[str | None], None]) -> None:
        self.done: list[Phase] = []
        self.failed: str | None = None
        self.latest: str | None = None
        self._show = show
        self._on_change = on_change

    @contextlib.contextmanager
    def phase(
        self,
        name: str,
        limit_s: float,
        *,
        repetition: int | None = None,
        label: str = "",
        expected_s: float | None = None,
        status: Callable[[], str] | None = None,
    ) -> Iterator[ActivePhase]:
        """Run the body as a phase; an exception that ends it is recorded and passed on."""
        active = ActivePhase(name)
        start = datetime.now(UTC)
        self.latest = name
        outcome: Outcome = "failed"
        try:
            self._show.begin(label or name, expected_s, status)
            self._on_change(name)
            with time_limit(limit_s, f"phase {name!r}"):
                yield active
            outcome = "skipped" if active.skipped else "ok"
        except KeyboardInterrupt:
            outcome = "interrupted"
            raise
        except LabError as error:
            active.detail = error.message.splitlines()[0]
            raise
        except Exception as error:
            active.detail = f"{type(error).__name__}: {error}"
            raise
        finally:
            if outcome in ("failed", "interrupted"):
                self.failed = name
            self.done.append(
                Phase(
                    name=name,
                    start=start,
                    end=datetime.now(UTC),
                    outcome=outcome,
                    detail="; ".join(part for part in (active.detail, *active.remarks) if part),
                    repetition=repetition,
                )
            )
            self._show.end(outcome, active.detail, active.remarks)
            self._on_change(None)


VERDICTS: dict[State, int] = {"valid": 0, "suspect": 1, "invalid": 2}
"""The verdict as a number in the metrics."""


def write_run_info(
    path: Path, labels: dict[str, str], phase: str | None, cpus: CpuPlan | None = None, verdict: State | None = None
) -> None:
    """Write metrics of run, CPU plan and verdict for node-exporter; without a phase, remove them.

    Only the dashboards need them, so a file that cannot be written, as on a full disk, does not end a run.
    """
    if phase is None:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
        return
    info = _labels({**labels, "phase": phase})
    text = (
        "# HELP lab_run_info The current run and its phase.\n"
        "# TYPE lab_run_info gauge\n"
        f"lab_run_info{{{info}}} 1\n"
        "# HELP lab_phase_start_seconds When the phase began, seconds since the epoch.\n"
        "# TYPE lab_phase_start_seconds gauge\n"
        f'lab_phase_start_seconds{{phase="{_escaped(phase)}"}} {datetime.now(UTC).timestamp():.3f}\n'
        "# HELP lab_cpu_role What the CPU plan puts on a CPU.\n"
        "# TYPE lab_cpu_role gauge\n"
    )
    roles = {"service": cpus.service, "load generator": cpus.loadgen, "other": cpus.other} if cpus else {}
    for cpu in sorted({cpu for part in roles.values() for cpu in part}):
        role = ", ".join(name for name, part in roles.items() if cpu in part)
        text += f'lab_cpu_role{{cpu="{cpu}",role="{role}"}} 1\n'
    if verdict is not None:
        text += (
            "# HELP lab_run_verdict The verdict on the run: 0 valid, 1 suspect, 2 invalid.\n"
            "# TYPE lab_run_verdict gauge\n"
            f"lab_run_verdict{{{_labels({**labels, 'verdict': verdict})}}} {VERDICTS[verdict]}\n"
        )
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)


def _labels(labels: dict[str, str]) -> str:
    return ",".join(f'{key}="{_escaped(value)}"' for key, value in labels.items())


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
