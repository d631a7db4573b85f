"""Processes and their descendants end with the lab."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.errors import RunError
from lab.process.processes import Processes, describe_exit, tail
from lab.run.signals import signals_raise
from support.checkout import LOOKS_MAX

SOURCES = Path(__file__).resolve().parents[1] / "src"


@pytest.fixture
def processes() -> Iterator[Processes]:
    made = Processes()
    yield made
    made.close()


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether a condition comes to hold. Looks are counted, not seconds: a machine may be slow, or stop."""
    for _ in range(LOOKS_MAX):
        if condition():
            return True
        time.sleep(0.02)
    return False


def test_close_ends_a_process_that_ignores_sigterm_and_its_children(processes: Processes, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    process = processes.start(["sh", "-c", f"trap '' TERM; sleep 60 & echo $! > {pids}; wait; sleep 60"])
    assert eventually(lambda: pids.exists() and pids.read_text().strip().isdigit())
    child = int(pids.read_text())
    processes.close()
    assert eventually(lambda: gone(process.pid) and gone(child))


@pytest.mark.skipif(not hasattr(os, "sched_setscheduler"), reason="scheduling classes are Linux's")
def test_a_helper_yields_to_a_program_of_the_lab(processes: Processes) -> None:
    cpus = sorted(os.sched_getaffinity(0))[:1]
    yielding = "from lab.process.processes import yield_to_others\nyield_to_others()\nwhile True: pass"
    helper = processes.start([sys.executable, "-c", yielding], cpus=cpus, env={"PYTHONPATH": str(SOURCES)})
    assert eventually(lambda: os.sched_getscheduler(helper.pid) == os.SCHED_IDLE)
    program = processes.start(["sh", "-c", "while :; do :; done"], cpus=cpus)
    before = ticks(helper.pid)
    assert eventually(lambda: ticks(program.pid) >= 100)
    assert ticks(helper.pid) - before <= 30


def test_a_nice_program_leaves_the_cpu_to_the_others_and_is_not_starved(processes: Processes) -> None:
    cpus = sorted(os.sched_getaffinity(0))[:1]
    busy = ["sh", "-c", "while :; do :; done"]
    nice, program = processes.start(busy, cpus=cpus, niceness=10), processes.start(busy, cpus=cpus)
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert os.getpriority(os.PRIO_PROCESS, program.pid) == own
    steps = min(own + 10, 19) - own  # fewer than 10 if these tests were started nice
    assert eventually(lambda: os.getpriority(os.PRIO_PROCESS, nice.pid) == own + steps)
    before = ticks(nice.pid)
    assert eventually(lambda: ticks(program.pid) >= 200)
    share = 1.25**-steps  # of the other's time, by the scheduler's weights; ten steps: 0.107
    assert 1 <= ticks(nice.pid) - before <= 2.8 * share * 200


def ticks(pid: int) -> int:
    """Return the CPU time of a process in clock ticks, 100 a second."""
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))


def test_the_processes_of_a_killed_lab_are_killed_too(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    program = (
        "import time; from lab.process.processes import Processes\n"
        "p = Processes()\n"
        f"p.start(['sh', '-c', 'sleep 60 & echo $$ $! > {pids}; wait'])\n"
        "print('started', flush=True)\n"
        "time.sleep(60)\n"
    )
    lab = subprocess.Popen(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(SOURCES)}, stdout=subprocess.PIPE
    )
    assert lab.stdout is not None
    assert lab.stdout.readline() == b"started\n"
    assert eventually(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    lab.send_signal(signal.SIGKILL)
    lab.wait()
    lab.stdout.close()
    assert eventually(lambda: all(gone(int(pid)) for pid in pids.read_text().split()))


@pytest.mark.parametrize("moment", ["before its program runs", "as soon as its program runs"])
def test_a_process_that_is_being_started_when_the_lab_is_killed_is_killed_too(tmp_path: Path, moment: str) -> None:
    """In the first case the child itself kills the lab, and goes on when the lab is gone."""
    program = (
        "import os, subprocess, sys, time\n"
        "from lab.process.processes import Processes\n"
        "real, lab, early = subprocess.Popen, os.getpid(), sys.argv[1].startswith('before')\n"
        "def kill_the_lab():\n"
        "    os.kill(lab, 9)\n"
        "    while os.getppid() == lab: time.sleep(0.001)\n"
        "def popen(argv, **options):\n"
        "    if 'sleep 300' not in ' '.join(argv): return real(argv, **options)\n"
        "    real(argv, **options, preexec_fn=kill_the_lab if early else None)\n"
        "    kill_the_lab()\n"
        "subprocess.Popen = popen\n"
        "Processes().start(['sh', '-c', 'sleep 300; true', sys.argv[2]])\n"
    )
    lab = subprocess.run(
        [sys.executable, "-c", program, moment, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        check=False,
    )
    assert lab.returncode == -signal.SIGKILL

    def left() -> list[str]:
        commands = []
        for file in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                commands.append(file.read_text())
        return [command for command in commands if str(tmp_path) in command]

    assert eventually(lambda: not left()), left()


@pytest.mark.skipif(not hasattr(os, "waitid"), reason="a process that has ended cannot be told from one that runs")
def test_only_groups_that_are_surely_its_own_are_signalled(
    processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pid that was reaped may be another process's; until then it has an entry in /proc."""
    signalled: list[bool] = []
    kill = os.killpg

    def killpg(group: int, number: int) -> None:
        signalled.append(Path(f"/proc/{group}").exists())
        kill(group, number)

    monkeypatch.setattr(os, "killpg", killpg)
    pids = tmp_path / "pids"
    process = processes.start(["sh", "-c", f"sleep 60 & echo $! > {pids}"])
    assert process.wait(60) == 0
    assert eventually(lambda: gone(int(pids.read_text()))), "its child has ended with it"
    process.signal(signal.SIGTERM)
    assert process.end() == 0
    processes.close()
    assert signalled == [True]


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="Linux tells of the end of a process, other systems do not")
def test_waiting_for_a_process_does_not_poll(processes: Processes) -> None:
    process = processes.start(["sleep", "2"])
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
    assert process.wait(0.5) is None
    assert process.wait(60) == 0
    assert resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - before < 15, "it slept twenty times a second"


def test_a_failed_program_shows_its_last_lines_and_where_the_rest_is(processes: Processes, tmp_path: Path) -> None:
    seen: list[str] = []
    with pytest.raises(RunError) as caught:
        processes.run(
            ["sh", "-c", "for i in $(seq 100); do echo line $i; done; exit 3"],
            log=tmp_path / "log",
            on_line=seen.append,
            name="the build",
        )
    assert caught.value.message.startswith("the build ended with exit code 3")
    assert str(tmp_path / "log") in caught.value.message
    assert caught.value.log_tail.splitlines()[-1] == "line 100"
    assert len(seen) == 100
    assert "line 1\n" in (tmp_path / "log").read_text()


def test_a_missing_program_is_named(processes: Processes) -> None:
    with pytest.raises(RunError, match="nonesuch cannot be started"):
        processes.start(["/nonesuch"])


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no CPU affinity on this system")
def test_a_process_runs_on_its_cpus_only(processes: Processes, tmp_path: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    command = [sys.executable, "-c", "import os; print(os.sched_getaffinity(0))"]
    assert processes.run(command, log=tmp_path / "log", cpus=(cpu,)) == f"{{{cpu}}}"


def test_nothing_is_started_any_more_once_closed(processes: Processes) -> None:
    processes.close()
    with pytest.raises(RunError, match="the run is ending"):
        processes.start(["sleep", "60"])


def test_an_interruption_during_a_start_is_raised_after_the_start_is_recorded(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []
    real = subprocess.Popen

    class Interrupted(real):  # type: ignore[misc,valid-type]
        def __init__(self, *args: object, **kwargs: object) -> None:
            super().__init__(*args, **kwargs)
            started.append(self.pid)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with signals_raise(), pytest.raises(KeyboardInterrupt):
        processes.start(["sleep", "60"])
    monkeypatch.setattr(subprocess, "Popen", real)
    processes.close()
    assert started
    assert all(gone(pid) for pid in started)


def test_exits_are_described_in_words() -> None:
    assert describe_exit(-9) == "was killed by SIGKILL"
    assert describe_exit(2) == "ended with exit code 2"
    assert describe_exit(None) == "did not end"


def test_the_tail_begins_at_the_given_byte(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("before\none\ntwo\nthree\n")
    assert tail(log, lines=2) == "two\nthree"
    assert tail(log, start=7) == "one\ntwo\nthree"
    assert tail(tmp_path / "absent") == ""


def test_a_process_that_survives_the_end_is_named(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    started = processes.start(["sleep", "60"])
    for constant in ("TERM_GRACE_S", "KILL_WAIT_S"):
        monkeypatch.setattr(f"lab.process.processes.{constant}", 0.01)
    with monkeypatch.context() as deaf:
        deaf.setattr(type(started), "signal", lambda *_: None)  # like one that hangs in the kernel
        assert processes.close() == [f"sleep (process {started.pid}): kill -9 {started.pid}"]
    started.end(0)
