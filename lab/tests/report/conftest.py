"""One whole run and its report, which the tests of this directory share."""

from __future__ import annotations

from pathlib import Path

import pytest

from report.pages import Page, report
from report.synthesis import Shape, make_run


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("run"), Shape(repetitions=2))


@pytest.fixture(scope="session")
def whole(run: Path) -> tuple[Page, str]:
    return report(run)
