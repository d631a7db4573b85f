from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from support import chromium
from support.checkout import FakeCheckout


@pytest.fixture
def checkout(tmp_path: Path) -> FakeCheckout:
    """A checkout whose service, load generator and profiler are fakes."""
    return FakeCheckout(tmp_path / "checkout").build()


@pytest.fixture(scope="session")
def browser() -> Iterator[Chrome]:
    """Headless Chromium; one for all tests, which open their pages by `support.chromium`."""
    driver = chromium.start()
    yield driver
    driver.quit()


BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what opens pages where the browser or its driver is missing; `pytest -rs` reports that in one line."""
    if item.get_closest_marker("browser") is None:
        return
    if not any(map(shutil.which, BROWSERS)):
        pytest.skip("pages are not opened: Chromium is missing (Debian: apt install chromium chromium-driver)")
    if shutil.which("chromedriver") is None:
        pytest.skip("pages are not opened: chromedriver is missing (Debian: apt install chromium-driver)")
