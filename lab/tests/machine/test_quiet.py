"""`quiet` and `unquiet` on files in place of the kernel's: every change is restored, after a crash too."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.cpu_plan import CpuPlan
from lab.errors import RunError
from lab.machine import quiet
from lab.machine.quiet import QuietMachine

PLAN = CpuPlan(service=(0,), loadgen=(1,), other=(1,))
FILES = {
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_available_governors": "performance powersave",
    "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never",
    "sys/module/haltpoll/parameters/guest_halt_poll_ns": "200000",
    "proc/irq/24/smp_affinity_list": "0-1",
    "proc/irq/25/smp_affinity_list": "1",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "root"


def read(root: Path) -> dict[str, str]:
    return {name: (root / name).read_text() for name in FILES}


def machine(root: Path) -> QuietMachine:
    return QuietMachine(root.parent / "quiet.json", root)


def test_every_change_is_reported_and_restored(root: Path) -> None:
    lines: list[str] = []
    assert machine(root).quiet(PLAN, lines.append) == 4
    assert read(root) | {} == {
        **FILES,
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance",
        "sys/kernel/mm/transparent_hugepage/enabled": "madvise",
        "sys/module/haltpoll/parameters/guest_halt_poll_ns": "1000000",
        "proc/irq/24/smp_affinity_list": "1",
    }
    assert len(lines) == 4
    assert any(line.endswith("powersave -> performance") for line in lines)
    assert machine(root).unquiet(lines.append) == 4
    assert read(root) == {**FILES, "sys/kernel/mm/transparent_hugepage/enabled": "always"}
    assert not (root.parent / "quiet.json").exists()


def test_after_a_crash_between_two_changes_the_originals_are_restored(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []
    real = quiet._write

    def crash(path: Path, value: str) -> str:
        if len(written) == 1:
            raise KeyboardInterrupt
        written.append(path)
        return real(path, value)

    monkeypatch.setattr(quiet, "_write", crash)
    with pytest.raises(KeyboardInterrupt):
        machine(root).quiet(PLAN, print)
    monkeypatch.undo()
    machine(root).unquiet(print)
    assert read(root) == {**FILES, "sys/kernel/mm/transparent_hugepage/enabled": "always"}


def test_a_second_quiet_keeps_the_first_originals(root: Path) -> None:
    machine(root).quiet(PLAN, print)
    (root / "proc/irq/24/smp_affinity_list").write_text("0")
    machine(root).quiet(PLAN, print)
    machine(root).unquiet(print)
    assert (root / "proc/irq/24/smp_affinity_list").read_text() == "0-1"


def test_settings_that_cannot_be_restored_stay_stored(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine(root).quiet(PLAN, print)
    monkeypatch.setattr(quiet, "_write", lambda path, value: "Permission denied")
    with pytest.raises(RunError, match="4 settings could not be restored"):
        machine(root).unquiet(print)
    monkeypatch.undo()
    assert machine(root).unquiet(print) == 4


def test_a_setting_that_the_kernel_refuses_is_reported_and_not_stored(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quiet, "_write", lambda path, value: "Operation not permitted")
    lines: list[str] = []
    assert machine(root).quiet(PLAN, lines.append) == 0
    assert any("remains 0-1: Operation not permitted" in line for line in lines)
    assert not (root.parent / "quiet.json").exists()


def test_a_longer_halt_poll_remains(root: Path) -> None:
    path = root / "sys/module/haltpoll/parameters/guest_halt_poll_ns"
    path.write_text("2000000")
    machine(root).quiet(PLAN, print)
    assert path.read_text() == "2000000"
