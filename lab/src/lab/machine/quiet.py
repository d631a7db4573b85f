"""Makes the machine quieter to measure on, as root, and restores everything.

It sets the CPU frequency governor to `performance`, transparent huge pages to `madvise` (only for memory that asks for
them), and the CPUs that handle interrupts to others than the service's. In a virtual machine it also sets how long an
idle CPU polls before it halts. A CPU that halted must wait until the hypervisor runs it again, which counts as steal.
Before a value is changed, its original is written to .cache/quiet.json, so that `unquiet` restores it after a crash
too. It stays there until the original is restored.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lab.cpu_plan import CpuPlan, cpu_list
from lab.errors import InputError, RunError
from lab.progress import Progress

GOVERNOR = "performance"
HUGE_PAGES = "madvise"
HALT_POLL_NS = 1_000_000
"""An idle CPU polls for 1 ms: longer than most pauses between requests at thousands a second."""


@dataclass(frozen=True)
class Setting:
    """A file of the kernel, its value now, and the wanted one."""

    path: Path
    now: str
    wanted: str


class QuietMachine:
    """The settings of one machine; `root` is `/` except in tests."""

    def __init__(self, journal: Path, root: Path = Path("/")) -> None:
        self._journal = journal
        self._root = root

    def quiet(self, plan: CpuPlan, progress: Progress) -> int:
        """Change the settings, reporting each change; return their number. Raises InputError without root."""
        if self._root == Path("/") and os.geteuid() != 0:
            raise InputError("make quiet changes settings of the kernel: it needs root", "sudo make quiet")
        originals = self._originals()
        changed = 0
        for setting in self._settings(plan):
            if setting.now == setting.wanted:
                continue
            before = dict(originals)
            originals.setdefault(str(setting.path), setting.now)
            self._write_journal(originals)
            if problem := _write(setting.path, setting.wanted):
                originals = before  # a write that was refused changed nothing
                self._write_journal(originals)
                progress(f"{setting.path}: remains {setting.now}: {problem}")
                continue
            changed += 1
            progress(f"{setting.path}: {setting.now} -> {setting.wanted}")
        if not changed:
            progress("nothing to change: every setting is quiet already or cannot be changed on this system")
        return changed

    def unquiet(self, progress: Progress) -> int:
        """Restore what `quiet` changed, the last change first; return the number of values. RunError if one fails."""
        originals = self._originals()
        kept: dict[str, str] = {}
        for name, original in reversed(originals.items()):
            if problem := _write(Path(name), original):
                kept[name] = original
                progress(f"{name}: could not be set back to {original}: {problem}")
            else:
                progress(f"{name}: back to {original}")
        self._write_journal(dict(reversed(kept.items())))
        if not originals:
            progress("nothing to restore: make quiet has changed nothing")
        if kept:
            raise RunError(f"{len(kept)} settings could not be restored", f"they stay in {self._journal}; try as root")
        return len(originals)

    def _settings(self, plan: CpuPlan) -> Iterator[Setting]:
        cpu_directory = self._root / "sys/devices/system/cpu"
        for path in sorted(cpu_directory.glob("cpu[0-9]*/cpufreq/scaling_governor")):
            if GOVERNOR in (_read(path.with_name("scaling_available_governors")) or "").split():
                yield Setting(path, _read(path) or "", GOVERNOR)
        path = self._root / "sys/kernel/mm/transparent_hugepage/enabled"
        choices = _read(path) or ""
        if HUGE_PAGES in choices.replace("[", " ").replace("]", " ").split():
            yield Setting(path, choices[choices.find("[") + 1 : choices.find("]")], HUGE_PAGES)
        path = self._root / "sys/module/haltpoll/parameters/guest_halt_poll_ns"
        if (now := _read(path)) is not None and now.isdecimal() and int(now) < HALT_POLL_NS:
            yield Setting(path, now, str(HALT_POLL_NS))
        off_service = sorted({*plan.loadgen, *plan.other} - set(plan.service))
        if off_service:
            for path in sorted(self._root.glob("proc/irq/[0-9]*/smp_affinity_list")):
                if (now := _read(path)) is not None:
                    yield Setting(path, now, cpu_list(off_service))

    def _originals(self) -> dict[str, str]:
        try:
            document = json.loads(self._journal.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise RunError(f"{self._journal}: cannot be read: {error}", "It holds the values to restore") from error
        return {str(name): str(value) for name, value in document.items()}

    def _write_journal(self, originals: dict[str, str]) -> None:
        if not originals:
            self._journal.unlink(missing_ok=True)
            return
        self._journal.parent.mkdir(parents=True, exist_ok=True)
        scratch = self._journal.with_name(f".{self._journal.name}")
        with scratch.open("w", encoding="utf-8") as file:
            json.dump(originals, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(self._journal)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return None


def _write(path: Path, value: str) -> str:
    """Write a value; return the error, empty if there was none."""
    try:
        path.write_text(value, encoding="utf-8")
    except OSError as error:
        return error.strerror or str(error)
    return ""
