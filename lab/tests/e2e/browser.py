"""Headless Chromium, as a reader of a report has it."""

from __future__ import annotations

import shutil
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service


def console_errors(page: Path, picture: Path | None = None) -> list[str]:
    """Opens the page from its file and returns what the console holds of warnings and errors.

    `picture` names a PNG to keep of the whole page.
    Raises WebDriverException where Chromium or its driver is missing.
    """
    options = webdriver.ChromeOptions()
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,1600"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    # Named, the driver is taken from the PATH; otherwise selenium asks the network for one first.
    with webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver"))) as driver:
        driver.get(page.as_uri())
        shown = "return document.body.innerText.trim().length + document.querySelectorAll('canvas, svg').length"
        assert driver.execute_script(shown) > 0, f"{page} shows nothing"
        if picture is not None:
            driver.set_window_size(1440, driver.execute_script("return document.documentElement.scrollHeight") + 160)
            driver.save_screenshot(str(picture))
        return [entry["message"] for entry in driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
