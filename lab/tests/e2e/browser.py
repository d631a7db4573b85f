"""Headless Chromium, with a reader's settings."""

from __future__ import annotations

import atexit
import functools
from pathlib import Path

from selenium.webdriver import Chrome

from support.chromium import entries, start


@functools.cache
def the_browser() -> Chrome:
    """Start the one that opens all pages. It ends with this process."""
    driver = start()
    atexit.register(driver.quit)
    return driver


def console_errors(page: Path, picture: Path | None = None) -> list[str]:
    """Opens the page from its file and returns what the console holds of warnings and errors.

    `picture` names a PNG to keep of the whole page.
    Raises WebDriverException if Chromium or its driver is missing.
    """
    driver = the_browser()
    entries(driver, "browser")  # those of the page before are dropped
    driver.set_window_size(1280, 1600)
    driver.get(page.as_uri())
    shown = "return document.body.innerText.trim().length + document.querySelectorAll('canvas, svg').length"
    assert driver.execute_script(shown) > 0, f"{page} shows nothing"
    if picture is not None:
        driver.set_window_size(1440, driver.execute_script("return document.documentElement.scrollHeight") + 160)
        driver.save_screenshot(str(picture))
    return [entry["message"] for entry in entries(driver, "browser") if entry["level"] in ("SEVERE", "WARNING")]
