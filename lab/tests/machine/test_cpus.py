"""The CPU plan: whole cores, disjoint if there are enough."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.cpu_plan import CpuPlan, cpu_list
from lab.errors import InputError
from lab.machine.cpus import cores_of, parse_cpus, plan_cpus
from lab.run.load import polls


def plan(cores: list[list[int]], **settings: str) -> CpuPlan:
    return plan_cpus(settings, cpus=sorted(cpu for core in cores for cpu in core), cores=cores)


def test_two_cpus_are_split_between_the_service_and_the_rest() -> None:
    made = plan([[0], [1]])
    assert (made.service, made.loadgen, made.other) == ((0,), (1,), (1,))


def test_the_two_threads_of_an_only_core_are_split_too() -> None:
    assert plan([[0, 1]]).service == (0,)


def test_one_cpu_is_shared_by_all() -> None:
    made = plan([[0]])
    assert made.service == made.loadgen == made.other == (0,)


def test_three_cores_give_one_to_each() -> None:
    made = plan([[0, 3], [1, 4], [2, 5]])
    assert (made.service, made.loadgen, made.other) == ((0, 3), (1, 4), (2, 5))


def test_the_load_generator_polls_on_cpus_of_its_own() -> None:
    assert polls(plan([[0, 3], [1, 4], [2, 5]]))
    for shared in (plan([[0]]), plan([[0], [1]]), CpuPlan((), (), ()), CpuPlan((0, 1), (1,), (2,))):
        assert not polls(shared), shared


@given(st.integers(min_value=3, max_value=96), st.integers(min_value=1, max_value=4))
def test_with_three_cores_and_more_the_sets_are_disjoint_whole_cores(count: int, threads: int) -> None:
    cores = [[core + thread * count for thread in range(threads)] for core in range(count)]
    made = plan(cores)
    parts = [set(made.service), set(made.loadgen), set(made.other)]
    assert all(parts)
    assert sum(map(len, parts)) == len(set().union(*parts)) == count * threads
    for core in cores:
        assert sum(not part.isdisjoint(core) for part in parts) == 1


def test_settings_override_a_part_each() -> None:
    assert plan([[0], [1], [2], [3]], CPUS_SERVICE="1-2").service == (1, 2)


@pytest.mark.parametrize("text", ["a", "1-", "3-1", "0;1", "0,,1"])
def test_a_setting_that_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="a list of CPU numbers such as 0,2-5"):
        plan([[0], [1]], CPUS_LOADGEN=text)


@given(st.sets(st.integers(min_value=0, max_value=300), min_size=1))
def test_lists_of_cpus_survive_the_way_through_text(cpus: set[int]) -> None:
    assert parse_cpus(cpu_list(sorted(cpus))) == tuple(sorted(cpus))


def test_siblings_are_found_in_sysfs(tmp_path: Path) -> None:
    for cpu, siblings in enumerate(["0,2", "1,3", "0,2", "1,3"]):
        topology = tmp_path / f"cpu{cpu}" / "topology"
        topology.mkdir(parents=True)
        (topology / "thread_siblings_list").write_text(f"{siblings}\n")
    assert cores_of([0, 1, 2, 3], tmp_path) == [[0, 2], [1, 3]]
    assert cores_of([0, 1, 2, 7], tmp_path) == [[0, 2], [1], [7]]
