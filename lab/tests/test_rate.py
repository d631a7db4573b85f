"""The rate of one run: scaled, fitted to this machine, and the advice if it is beyond this machine."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lab.capacity import Capacities, Capacity, advice, sources_hash
from lab.cpu_plan import CpuPlan
from lab.errors import InputError
from lab.experiment import Catalogue, Experiment, apply_overrides
from lab.experiment.rate import DEFAULT_SHARE, Saturation
from lab.paths import Checkout
from support.checkout import FakeCheckout

TWO_CPUS = CpuPlan((0,), (1,), (1,))
LOAD = {"script": "get.lua", "rate": 70_000, "threads": 4, "connections": 64, "duration": "1s", "warmup": "1s"}
REFERENCE = {"source": "report A", "cpus": 8, "requests_per_second": 60_000}
Declare = Callable[..., Experiment]


@pytest.fixture
def declare(checkout: FakeCheckout) -> Declare:
    def declared(**changes: object) -> Experiment:
        checkout.experiment("x", **{"load": LOAD, "reference": REFERENCE, **changes})
        return Catalogue(Checkout(checkout.root)).read("x")

    return declared


def saturated(per_s: float) -> Callable[[Experiment], Saturation]:
    return lambda _: Saturation(per_s)


def test_a_scale_multiplies_the_declared_rate_and_is_recorded(declare: Declare) -> None:
    scaled, overrides = apply_overrides(declare(), {"scale": "0.3", "duration": "5s"})
    assert scaled.load.rate_per_s == 21_000
    assert overrides == {"scale": "0.3", "rate": 21_000, "duration": "5s"}
    choice = scaled.rate_choice
    assert choice is not None
    assert (choice.how, choice.declared_per_s, choice.scale) == ("scaled", 70_000, 0.3)
    assert scaled.reference is not None
    assert scaled.reference.rate_per_s == 70_000, "the reference keeps its own rate"


def test_auto_keeps_the_share_that_the_reference_had_of_its_own_saturation(declare: Declare) -> None:
    fitted, overrides = apply_overrides(declare(), {"rate": "auto"}, saturated(30_000))
    assert fitted.load.rate_per_s == 35_000
    assert overrides == {"scale": "auto", "rate": 35_000}
    choice = fitted.rate_choice
    assert choice is not None
    assert choice.share == pytest.approx(70 / 60)
    assert (choice.how, choice.share_from, choice.saturation_per_s) == ("auto", "reference", 30_000)
    assert "117% of the 30,000/s" in choice.sentence()
    same, _ = apply_overrides(declare(), {"scale": "auto"}, saturated(30_000))
    assert same.load.rate_per_s == 35_000


def test_auto_uses_a_default_share_without_a_reference(declare: Declare) -> None:
    fitted, _ = apply_overrides(declare(reference=None), {"rate": "AUTO"}, saturated(30_000))
    assert fitted.load.rate_per_s == DEFAULT_SHARE * 30_000
    assert fitted.rate_choice is not None
    assert fitted.rate_choice.share_from == "default"


def test_a_sweep_is_scaled_by_one_factor_and_its_points_keep_their_references(declare: Declare) -> None:
    reference = {"saturation": 20_000, "at": [{"rate": 10_000, "requests_per_second": 9_999}]}
    sweep = declare(load={**LOAD, "rate": [1_000, 10_000]}, reference=reference)
    fitted, overrides = apply_overrides(sweep, {"rate": "auto"}, saturated(5_000))
    low, high = fitted.points()
    assert (low.load.rate_per_s, high.load.rate_per_s) == (250, 2_500)
    assert high.reference is not None
    assert (high.reference.rate_per_s, high.reference.requests_per_s) == (10_000, 9_999)
    assert high.rate_choice is not None
    assert high.rate_choice.declared_per_s == 10_000
    assert high.rate_choice.share == pytest.approx(0.5)
    assert low.rate_choice is not None
    assert low.rate_choice.share == pytest.approx(0.05)
    assert overrides == {"scale": "auto"}
    point, _ = apply_overrides(sweep, {"rate": "10000", "scale": "auto"}, saturated(5_000))
    assert point.load.rate_per_s == 2_500
    assert point.reference is not None


def test_without_a_reference_one_point_of_a_sweep_is_scaled_as_the_whole_sweep(declare: Declare) -> None:
    sweep = declare(load={**LOAD, "rate": [1_000, 10_000]}, reference=None)
    whole, _ = apply_overrides(sweep, {"scale": "auto"}, saturated(5_000))
    points = [apply_overrides(sweep, {"rate": rate, "scale": "auto"}, saturated(5_000))[0] for rate in ("1k", "10k")]
    assert [p.load.rate_per_s for p in whole.points()] == [350, 3_500]
    assert [p.load.rate_per_s for p in points] == [350, 3_500]


BAD = [
    ({"scale": "0"}, "SCALE=0: is not a number over 0 and at most 100, such as 0.3, or auto"),
    ({"scale": "-1"}, "SCALE=-1: is not a number"),
    ({"scale": "nan"}, "SCALE=nan: is not a number"),
    ({"scale": "1e9"}, "SCALE=1e9: is not a number"),
    ({"scale": "101"}, "SCALE=101: is not a number"),
    ({"scale": "0.000001"}, "SCALE=0.000001: 70,000/s becomes 0.07/s: must be from 1 to 10,000,000"),
    ({"rate": "auto", "scale": "0.5"}, "RATE=auto SCALE=0.5: RATE=auto chooses the scale"),
    ({"rate": "20000", "scale": "0.5"}, "RATE=20000 SCALE=0.5: SCALE multiplies the declared 70000/s"),
    ({"rate": "auto"}, "RATE=auto: there is nothing to base it on"),
    ({"rate": "often"}, "RATE=often: 'often' is not a whole number"),
]


@pytest.mark.parametrize(("given", "message"), BAD)
def test_a_bad_rate_or_scale_is_refused(declare: Declare, given: dict[str, str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        apply_overrides(declare(), given)
    assert caught.value.message.startswith(message)


def measured(per_s: float) -> Capacity:
    return Capacity(experiment="x", per_s=per_s, lower_bound=False, measured_at=datetime.now(UTC), runs=[])


def test_a_saturation_is_found_for_the_same_service_load_and_machine_alone(
    declare: Declare, checkout: FakeCheckout
) -> None:
    experiment = declare()
    here = Checkout(checkout.root)
    capacities = Capacities(here, TWO_CPUS, "local")
    assert capacities.find(experiment) is None
    with pytest.raises(InputError, match="nothing to base it on") as caught:
        capacities.saturation_of("x")(experiment)
    assert "make capacity NAME=x" in caught.value.hint
    capacities.add(experiment, measured(30_000))
    for same in ({"rate": "5"}, {"duration": "9s"}, {"warmup": "0s"}, {"repeat": "3"}, {"profile": "off"}):
        assert capacities.find(apply_overrides(experiment, same)[0]) is not None, same
    for other in ({"variant": "queue"}, {"engine": "null"}, {"connections": "32"}, {"threads": "2"}):
        assert capacities.find(apply_overrides(experiment, other)[0]) is None, other
    assert Capacities(here, TWO_CPUS, "docker").find(experiment) is None
    assert Capacities(here, CpuPlan((0,), (0,), (0,)), "local").find(experiment) is None
    (checkout.root / "service/Changed.java").write_text("class Changed {}")
    assert Capacities(here, TWO_CPUS, "local").find(experiment) is None
    capacities.path.write_text("{")
    assert capacities.find(experiment) is None, "a damaged file is none"


def test_the_hash_of_the_sources_leaves_tests_and_built_files_out(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/A.java").write_text("a")
    before = sources_hash(tmp_path)
    for place in ("target/B.java", "src/test/B.java", "src/notes.txt"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("b")
    assert sources_hash(tmp_path) == before
    (tmp_path / "src/A.java").write_text("b")
    assert sources_hash(tmp_path) != before


def test_a_rate_beyond_the_measured_saturation_is_reported_in_one_line(declare: Declare) -> None:
    experiment = declare()
    line = advice("x", experiment, measured(30_000), TWO_CPUS)
    assert line is not None
    assert "\n" not in line
    assert line.startswith("70,000/s is more than the 30,000/s that this machine serves of x")
    assert line.endswith("make experiment NAME=x RATE=auto")
    command = "make compare A=x B=y"
    line = advice("x", experiment, measured(30_000), TWO_CPUS, command)
    assert line is not None
    assert line.endswith(f"{command} RATE=auto")
    assert advice("x", experiment, measured(80_000), TWO_CPUS) is None


def test_without_a_measurement_the_cpus_of_the_reference_are_compared(declare: Declare) -> None:
    line = advice("x", declare(), None, TWO_CPUS)
    assert line is not None
    assert "measured on 8 CPUs and here are 2" in line
    assert "make experiment NAME=x SCALE=0.25" in line
    assert advice("x", declare(reference=None), None, TWO_CPUS) is None
    assert advice("x", declare(), None, CpuPlan((0, 1, 2, 3), (4, 5, 6), (7,))) is None
    assert advice("x", declare(load={**LOAD, "threads": 1, "connections": 1}), None, TWO_CPUS) is None


def test_from_outside_a_scale_is_recorded_and_auto_without_a_measurement_changes_nothing(
    checkout: FakeCheckout,
) -> None:
    for words in (("--rate", "auto"), ("--scale", "0")):
        code, output = checkout.lab("run", "fake", *words)
        assert code == 2, output
        assert not (checkout.root / "results").exists()
    assert "is not a number over 0" in output
    code, output = checkout.lab("run", "fake", "--scale", "0.5", "--profile", "off")
    assert code == 0, output
    experiment = checkout.manifest()["experiment"]
    assert experiment["resolved"]["load"]["rate_per_s"] == 50
    assert experiment["overrides"] == {"scale": "0.5", "rate": 50, "profile": "off"}
    assert experiment["rate"]["how"] == "scaled"
    assert experiment["rate"]["declared_per_s"] == 100
    assert experiment["rate"]["scale"] == 0.5
