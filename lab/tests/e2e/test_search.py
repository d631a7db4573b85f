"""A search with the real load generator against a server whose saturation is known: its answer is within 5%.

It measures, so it needs a machine that is quiet otherwise: `make torture-lab`.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from support.checkout import FakeCheckout, nothing_is_left

ROOT = Path(__file__).resolve().parents[3]
LOADGEN = "loadgen/target/release/loadgen"


@pytest.fixture
def real_load(checkout: FakeCheckout) -> FakeCheckout:
    """A checkout whose load generator is the real one; only the service is not."""
    shutil.copy(ROOT / LOADGEN, checkout.root / LOADGEN)
    shutil.copy(ROOT / "loadgen/scripts/get.lua", checkout.root / "loadgen/scripts/get.lua")
    load = {"script": "get.lua", "threads": 1, "connections": 32, "duration": "2s", "warmup": "0s"}
    checkout.experiment("known", dataset=None, profile=False, load={**load, "rate": 8_000, "args": {"pairs": 100}})
    return checkout


@pytest.mark.torture
@pytest.mark.parametrize("saturation", [700, 2_500])
def test_a_search_finds_the_saturation_of_a_server_that_has_a_known_one(
    real_load: FakeCheckout, saturation: int
) -> None:
    known = {"FAKE_SATURATION_PER_S": str(saturation), "CPUS_OTHER": ""}  # the lab keeps off the CPU of the server
    code, output = real_load.lab("search", "known", "p99<25ms", "--duration", "2s", limit_s=200, **known)
    assert code == 0, output
    directory = next((real_load.root / "results/search").iterdir())
    answer = json.loads((directory / "record.json").read_text())
    assert answer["state"] == "complete"
    result = answer["result"]
    assert result["ended"] == "found", output
    assert result["rate_per_s"] == pytest.approx(saturation, rel=0.05), output
    assert result["low_per_s"] * 0.98 <= saturation <= result["high_per_s"] * 1.02
    assert len(answer["runs"]) == len(result["steps"])
    for step in result["steps"]:
        assert (real_load.root / "results" / step["run"] / "report.html").is_file()
    page = (directory / "search.html").read_text()
    assert "90% interval" in page
    assert all(f"../../{step['run']}/report.html" in page for step in result["steps"])
    assert nothing_is_left(real_load)
