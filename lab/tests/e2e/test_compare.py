"""Comparisons with the real load generator: of a service whose delay is known, and of the real service with itself."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from support.checkout import FakeCheckout, nothing_is_left

from .browser import console_errors
from .conftest import CHECKOUT, make, require

LOADGEN = "loadgen/target/release/loadgen"
QUICK = ("RATE=1000", "DURATION=2s", "WARMUP=1s", "BLOCKS=6", "PROFILE=off")


def test_two_hundred_microseconds_more_are_worse_by_two_hundred_microseconds(checkout: FakeCheckout) -> None:
    checkout.program("jdk/bin/java", "delayed_java.py")
    (checkout.root / "service/server/target/service/variants.txt").write_text("delay-100 delay-300")
    shutil.copy(CHECKOUT / LOADGEN, checkout.root / LOADGEN)
    shutil.copy(CHECKOUT / "loadgen/scripts/get.lua", checkout.root / "loadgen/scripts/get.lua")
    load = {"script": "get.lua", "rate": 300, "threads": 1, "connections": 2, "duration": "2s", "warmup": "0s"}
    checkout.experiment(
        "known", service={"variant": "delay-100"}, dataset=None, profile=False, load={**load, "args": {"pairs": 100}}
    )
    code, output = checkout.lab("compare", "known", "known VARIANT=delay-300", "BLOCKS=6", "METRIC=p50")
    assert code == 0, output
    found = json.loads((checkout.runs("compare")[-1] / "compare.json").read_text())["result"]
    primary = next(metric for metric in found["metrics"] if metric["primary"])
    assert found["verdict"] == "worse", output
    assert primary["difference"] == pytest.approx(0.2, rel=0.2), f"ms; {output}"
    assert primary["difference_low"] <= 0.2 * 1.2
    assert primary["difference_high"] >= 0.2 * 0.8
    assert nothing_is_left(checkout)


@pytest.mark.parametrize("runtime", ["local", "docker"])
def test_the_real_service_against_itself_is_not_called_different(runtime: str) -> None:
    require(runtime)
    compared = CHECKOUT / "results/compare"
    before = set(compared.glob("*Z*"))
    done = make("compare", "A=null-get", "B=null-get", *QUICK, f"RUNTIME={runtime}", MONITORING="off")
    assert done.returncode == 0, done.stdout[-4000:]
    (directory,) = set(compared.glob("*Z*")) - before
    found = json.loads((directory / "compare.json").read_text())
    assert found["runtime"] == runtime
    assert found["result"]["verdict"] in ("same", "cannot tell"), done.stdout[-4000:]
    metrics = {metric["name"] for metric in found["result"]["metrics"]}
    assert {"p50", "p99", "throughput", "cpu", "alloc"} <= metrics
    for block in found["blocks"]:
        for window in block["windows"]:
            assert window["service_cpu_s"] > 0
            assert window["allocated_bytes"] > 0
    assert console_errors(directory / "compare.html") == []
    assert (Path(directory) / "a/report.html").is_file()
