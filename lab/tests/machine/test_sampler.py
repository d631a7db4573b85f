"""The sampler of the machine's evidence: its rows, its distinctions, its end, its cost."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lab.cpu_plan import CpuPlan
from lab.machine import sampler
from lab.machine.audit import MachineAudit
from support.checkout import LOOKS_MAX

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
BUSY = "import time\nwhile True: pass"


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def wait_for_rows(path: Path, count: int) -> list[dict[str, str]]:
    for _ in range(LOOKS_MAX // 4):
        if path.exists() and len(found := rows(path)) >= count and all(None not in row.values() for row in found):
            return found
        time.sleep(0.1)
    raise AssertionError(f"no {count} rows in {path}")


def wait_for_load(path: Path) -> None:
    """Wait until the sampler watches the load generator: until then it has not read the words of `audit.watch`."""
    count = 1
    while not (found := wait_for_rows(path, count))[-1]["loadgen_cpu_s"]:
        count = len(found) + 1


def test_it_tells_the_watched_processes_from_the_rest_and_ends_with_its_audit(tmp_path: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    audit = MachineAudit()
    audit.start(tmp_path / "machine.csv", CpuPlan((cpu,), (cpu,), (cpu,)))
    busy = subprocess.Popen([sys.executable, "-c", BUSY])
    try:
        wait_for_rows(tmp_path / "machine.csv", 1)
        audit.watch("service", busy.pid)
        before = len(rows(tmp_path / "machine.csv"))
        found = wait_for_rows(tmp_path / "machine.csv", before + 3)[before + 1 :]
    finally:
        busy.kill()
        busy.wait()
        audit.stop()
    used = sum(float(row["service_cpu_s"]) for row in found)
    waited = sum(float(row["service_run_delay_s"]) for row in found)
    assert used + waited > 0.2 * sum(float(row["interval_s"]) for row in found), "it runs or waits all the time"
    assert {row["loadgen_cpu_s"] for row in found} == {""}
    assert all(float(row["service_disk_bytes"]) >= 0 for row in found)
    assert all(float(row["disk_bytes"]) >= 0 and float(row["refault_bytes"]) >= 0 for row in found)
    assert all(0 <= float(row[f"cpu{cpu}_busy_s"]) <= 2 * float(row["interval_s"]) + 1 for row in found)
    count = len(rows(tmp_path / "machine.csv"))
    time.sleep(1.5)
    assert len(rows(tmp_path / "machine.csv")) == count, "it ended"


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="it takes two CPUs")
def test_a_process_that_loses_its_cpu_set_is_seen(tmp_path: Path) -> None:
    """As by `taskset --all-tasks`; threads that a program puts on single CPUs of its set are its own affair."""
    first, second = sorted(os.sched_getaffinity(0))[:2]
    threads = "import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()\ntime.sleep(600)"
    audit = MachineAudit()
    audit.start(tmp_path / "machine.csv", CpuPlan((first,), (first, second), (first,)))
    watched = [
        subprocess.Popen(["taskset", "--cpu-list", cpus, sys.executable, "-c", threads])
        for cpus in (f"{first}", f"{first},{second}")
    ]

    def tids(pid: int) -> list[int]:
        return [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()]

    def unpinned_s(role: str, rows_more: int = 3) -> list[float]:
        count = len(wait_for_rows(tmp_path / "machine.csv", 1))
        found = wait_for_rows(tmp_path / "machine.csv", count + rows_more)[count + 1 :]
        return [float(row[f"{role}_unpinned_s"]) for row in found]

    try:
        for process in watched:
            while len(tids(process.pid)) < 2:
                time.sleep(0.01)
        audit.watch("service", watched[0].pid)
        audit.watch("loadgen", watched[1].pid)
        os.sched_setaffinity(max(tids(watched[1].pid)), {second})
        assert set(unpinned_s("service")) == {0.0}
        assert set(unpinned_s("loadgen")) == {0.0}
        moved = ["taskset", "--all-tasks", "--cpu-list", "--pid", f"{first},{second}", str(watched[0].pid)]
        subprocess.run(moved, check=True, capture_output=True)
        assert min(unpinned_s("service")) > 0.5
    finally:
        for process in watched:
            process.kill()
            process.wait()
        audit.stop()


def test_a_process_is_watched_as_soon_as_it_exists(tmp_path: Path) -> None:
    audit = MachineAudit()
    cpu = min(os.sched_getaffinity(0))
    audit.start(tmp_path / "machine.csv", CpuPlan((cpu,), (cpu,), (cpu,)))
    pids = iter([None, None, os.getpid(), None])
    own = os.getpriority(os.PRIO_PROCESS, 0)
    seen: set[int] = set()

    def find() -> int | None:
        seen.add(os.getpriority(os.PRIO_PROCESS, 0))
        return next(pids)

    try:
        audit.watch_soon("loadgen", find, lambda: True)
        wait_for_load(tmp_path / "machine.csv")
    finally:
        audit.stop()
    assert seen == {min(own + 10, 19)}, "it yields to the load"
    assert os.getpriority(os.PRIO_PROCESS, 0) == own


def test_it_has_a_high_priority_if_that_is_allowed_so_that_a_busy_machine_costs_no_evidence(tmp_path: Path) -> None:
    ask = "import os; os.setpriority(os.PRIO_PROCESS, 0, -10)"
    allowed = subprocess.run([sys.executable, "-c", ask], capture_output=True, check=False).returncode == 0
    cpu = min(os.sched_getaffinity(0))
    audit = MachineAudit()
    audit.start(tmp_path / "machine.csv", CpuPlan((cpu,), (cpu,), (cpu,)))
    try:
        wait_for_rows(tmp_path / "machine.csv", 1)
        assert audit._process is not None
        own = os.getpriority(os.PRIO_PROCESS, 0)
        assert os.getpriority(os.PRIO_PROCESS, audit._process.pid) == (-10 if allowed else own)
    finally:
        audit.stop()


def test_it_ends_when_the_lab_dies(tmp_path: Path) -> None:
    code = (
        "import os, sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\nfrom lab.machine.audit import MachineAudit\nfrom lab.cpu_plan import CpuPlan\n"
        "audit = MachineAudit(); c = (min(os.sched_getaffinity(0)),)\n"
        "audit.start(Path(sys.argv[2]), CpuPlan(c, c, c))\n"
        "print(audit._process.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    source = str(Path(sampler.__file__).parents[2])
    argv = [sys.executable, "-c", code, source, str(tmp_path / "machine.csv")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    pid = int(done.stdout)
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}/stat").exists() and " Z " not in Path(f"/proc/{pid}/stat").read_text():
        assert time.monotonic() < deadline, "the sampler outlives the lab"
        time.sleep(0.05)


USED_S = 0.1
"""CPU time that a process uses during a load, however busy the machine is."""


def cpu_s_of(pid: str) -> float:
    return sampler.parse_process(int(pid), Path(f"/proc/{pid}/stat").read_text()).cpu_s


def test_at_the_end_of_a_load_it_reports_the_use_of_other_processes_without_the_labs(tmp_path: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    audit = MachineAudit()
    audit.start(tmp_path / "machine.csv", CpuPlan((cpu,), (cpu,), (cpu,)))
    # A process whose parent has ended is no descendant of this one, which stands for the lab.
    start = "yes >/dev/null & echo $!; sha256sum /dev/zero >/dev/null & echo $!; "
    start += "sha512sum /dev/zero >/dev/null & echo $!"
    orphans = subprocess.run(["sh", "-c", start], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    own = subprocess.Popen(["sha1sum", "/dev/zero"])
    load = subprocess.Popen(["sleep", "600"])
    began = time.monotonic()
    try:
        for pid in orphans[1:]:
            audit.watch("beside", int(pid))
        audit.watch("loadgen", load.pid)
        wait_for_load(tmp_path / "machine.csv")
        late = subprocess.Popen(["md5sum", "/dev/zero"])
        before_s = cpu_s_of(orphans[0])
        while cpu_s_of(orphans[0]) < before_s + USED_S:
            time.sleep(0.01)
        audit.watch("loadgen", None)
        wait_for_rows(tmp_path / "machine.csv", len(rows(tmp_path / "machine.csv")) + 2)
        took_s = time.monotonic() - began
    finally:
        for pid in orphans:
            os.kill(int(pid), signal.SIGKILL)
        for process in (own, load, late):
            process.kill()
            process.wait()
        audit.stop()
    (line,) = (tmp_path / "processes.jsonl").read_text().splitlines()
    use = json.loads(line)
    assert 0 < use["interval_s"] <= took_s
    assert use["cpu_s"]["yes"] >= USED_S
    assert not {"sha1sum", "sha256sum", "sha512sum", "md5sum", "sleep"} & use["cpu_s"].keys()


@pytest.mark.parametrize(
    ("name", "parent", "expected"),
    [("kworker/0:1H-kblockd", 2, True), ("ksoftirqd/0", 2, True), ("kdamond.0", 2, False), ("kworker", 1, False)],
)
def test_a_kernel_thread_that_does_the_runs_io_is_not_another_process(name: str, parent: int, expected: bool) -> None:
    assert sampler.Process(90, parent, 0, name, 1.0).is_on_request is expected


def test_a_quota_is_looked_for_in_the_group_of_the_process() -> None:
    assert sampler.throttle_file("4:memory:/a\n1:cpu,cpuacct:/b\n0::/c\n") == "/sys/fs/cgroup/cpu/b/cpu.stat"
    assert sampler.throttle_file("0::/system.slice/x.scope\n") == "/sys/fs/cgroup/system.slice/x.scope/cpu.stat"
    assert sampler.throttle_file("1:cpu:/\n0::/\n") is None


def test_disk_traffic_and_the_pages_that_were_taken_and_read_again_are_counted_in_bytes() -> None:
    vmstat = "nr_dirty 9\nworkingset_refault_anon 1\nworkingset_refault_file 2\npgpgin 10\npgpgout 5\npgpgoutside 1\n"
    page = sampler.PAGE_BYTES
    assert sampler.memory_and_disk_bytes(vmstat) == {"disk_bytes": 15 * 1024, "refault_bytes": 3 * page}
    taken = "pgsteal_kswapd 7\npgsteal_anon 1\npgsteal_file 6\n"
    assert sampler.memory_and_disk_bytes(taken) == {"reclaim_bytes": 7 * page}


def test_bytes_that_a_process_writes_to_files_are_its_disk_traffic(tmp_path: Path) -> None:
    watch = sampler.Watch(os.getpid(), sampler.KeptOpen())
    before = watch.disk_bytes()
    (tmp_path / "written").write_bytes(bytes(8 << 20))
    after = watch.disk_bytes()
    assert before is not None
    assert after is not None
    if after == before:
        pytest.skip(f"{tmp_path} is not on a disk")
    assert 8 << 20 <= after - before < 16 << 20


def test_idle_time_is_that_of_each_cpu_with_its_waiting() -> None:
    stat = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 10 0 10 500 100 0 0 7 0 0\ncpu1 10 0 10 600 0 0 0 0 0 0\nintr 1\n"
    idle_s, steal_s = sampler.cpu_idle_and_steal(stat)
    assert idle_s == {0: 600 * sampler.TICK_S, 1: 600 * sampler.TICK_S}
    assert steal_s == {0: 7 * sampler.TICK_S, 1: 0.0}


def test_throttling_of_the_group_before_the_process_joined_it_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = tmp_path / "cpu.stat"
    watch = sampler.Watch(os.getpid(), sampler.KeptOpen())
    seen = []
    for file, throttled_usec in [(None, 0), (group, 5_000_000), (group, 5_200_000), (None, 0), (group, 9_000_000)]:
        group.write_text(f"nr_throttled 3\nthrottled_usec {throttled_usec}\n")
        monkeypatch.setattr(sampler, "throttle_file", lambda groups, file=file: file and str(file))
        seen.append(watch.totals()["throttled_s"])
    assert seen == pytest.approx([0, 0, 0.2, 0.2, 0.2])


def test_threads_of_the_load_generator_that_only_collect_do_not_count_as_waiting() -> None:
    names = ["loadgen", "loadgen-metrics", "loadgen-0", "loadgen-12", "wrk", "NIO Selector #0"]
    assert [name for name in names if not sampler.NO_REQUEST_WAITS_FOR.match(name)] == names[2:]


def test_cpu_time_that_was_read_late_is_scaled_to_the_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that uses all of a CPU is read 0.5 s after the rest in one second of three."""
    clock_s = iter([100.0, 101.0, 102.0, 103.0])
    late_s = iter([0.0, 0.5, 0.0, 0.0])
    now_s = [0.0]
    taker = sampler.Sampler([], os.getpid())
    watch = sampler.Watch(os.getpid(), sampler.KeptOpen())

    def cpu_s() -> float:
        watch.cpu_read_at_s = now_s[0] + next(late_s)
        return watch.cpu_read_at_s

    monkeypatch.setattr(sampler.time, "monotonic", lambda: now_s[0])
    monkeypatch.setattr(watch, "cpu_s", cpu_s)
    taker._watches["service"] = watch
    used = []
    for now_s[0] in clock_s:
        if (row := taker.row()) is not None:
            used.append(float(dict(zip(taker.columns, row.split(","), strict=True))["service_cpu_s"]))
    assert used == pytest.approx([1.0, 1.0, 1.0])
