from __future__ import annotations

from pathlib import Path

import pytest

from support.house import FakeHouse


@pytest.fixture
def house(tmp_path: Path) -> FakeHouse:
    """A checkout whose service, load generator and profiler are fakes."""
    return FakeHouse(tmp_path / "house").build()
