"""Headless Chromium, and scripts that return the elements that make a page hard to read."""

from __future__ import annotations

import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

from support.checkout import LIMIT_S

# Contrast of the text in plots with what lies behind it (WCAG 2.2, 1.4.3): below 4.5. axe-core cannot judge it, because
# it knows no background of an SVG.
LOW_CONTRAST_IN_PLOTS = """
const luminance = ([r, g, b]) => {
  const [x, y, z] = [r, g, b].map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
};
const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
const behind = (element) => {
  for (let e = element; e; e = e.parentElement) {
    const [r, g, b, a = 1] = parse(getComputedStyle(e).backgroundColor);
    if (a > 0.99) return [r, g, b];
  }
  return [255, 255, 255];
};
const found = [];
for (const text of document.querySelectorAll("svg text")) {
  if (!text.textContent.trim() || !text.checkVisibility()) continue;
  const inks = [luminance(parse(getComputedStyle(text).fill)), luminance(behind(text))];
  const [one, two] = inks.sort((a, b) => b - a);
  const ratio = (one + 0.05) / (two + 0.05);
  if (ratio < 4.5) found.push(`${ratio.toFixed(2)} ${text.textContent.trim()}`);
}
return found;
"""
OVERFLOWING = """
const wide = document.documentElement.clientWidth;
return [...document.querySelectorAll("body *")]
  .filter((e) => e.checkVisibility() && !e.closest(".scroll, .flame, .unseen, .skip, svg"))
  .filter((e) => e.getBoundingClientRect().right > wide + 1)
  .map((e) => `${e.tagName}.${e.className} ${e.textContent.trim().slice(0, 40)}`);
"""
CUT_TABLES = """
return [...document.querySelectorAll(".scroll")]
  .filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1).map((e) => e.getAttribute("aria-label"));
"""
CLIPPED_TEXT = """
const cut = [];
for (const svg of document.querySelectorAll("svg.plot")) {
  if (!svg.checkVisibility()) continue;
  const box = svg.getBoundingClientRect();
  for (const text of svg.querySelectorAll("text")) {
    const own = text.getBoundingClientRect();
    if (text.checkVisibility() && (own.left < box.left - 9 || own.right > box.right + 9)) cut.push(text.textContent);
  }
}
return cut;
"""
TOUCHING_TICKS = """
const touching = [];
for (const svg of document.querySelectorAll("svg.plot")) {
  if (!svg.checkVisibility()) continue;
  const shown = [...svg.querySelectorAll("text.tick")].filter((t) => t.checkVisibility());
  const ticks = shown.map((t) => [t.textContent, t.getBoundingClientRect()]);
  for (const [i, [name, a]] of ticks.entries())
    for (const [other, b] of ticks.slice(i + 1))
      if (a.left < b.right && b.left < a.right && a.top < b.bottom - 3 && b.top < a.bottom - 3)
        touching.push(`${name} ${other}`);
}
return touching;
"""


def start() -> Chrome:
    """Start one that logs its console and what it fetches. The caller ends it with `quit()`."""
    options = ChromeOptions()
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # Named, the driver is taken from the PATH; otherwise selenium asks the network for one first.
    browser = Chrome(options=options, service=Service(shutil.which("chromedriver")))
    browser.set_script_timeout(LIMIT_S)
    return browser


def entries(browser: Chrome, kind: str) -> list[dict[str, Any]]:
    """Return what was logged since the last call; `kind` is `browser` or `performance`."""
    found: list[dict[str, Any]] = browser.get_log(kind)  # type: ignore[no-untyped-call]
    return found


def open_page(browser: Chrome, page: Path, width: int = 1280, scheme: str = "light", media: str = "") -> None:
    """Open a page from its file, as a screen of this width has it, or a printer."""
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 700}
    features = [
        {"name": "prefers-color-scheme", "value": scheme},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
    for kind in ("browser", "performance"):
        entries(browser, kind)
    browser.get(page.as_uri())


def low_contrast(browser: Chrome) -> list[str]:
    """Return the texts of the open page whose contrast is too low, each with what is wrong."""
    return _axe(browser, "rule", ["color-contrast"]) + browser.execute_script(LOW_CONTRAST_IN_PLOTS)


def accessibility_problems(browser: Chrome) -> list[str]:
    """Return what axe-core finds against WCAG 2.1 A and AA and its best practices."""
    return _axe(browser, "tag", ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"])


def _axe(browser: Chrome, kind: str, values: list[str]) -> list[str]:
    """Run axe-core's rules of these values. It asserts that a rule applied: a check of nothing finds nothing."""
    if browser.execute_script("return typeof axe") == "undefined":
        browser.execute_script((files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8"))
    found: dict[str, list[dict[str, Any]]] = browser.execute_async_script(
        "const [kind, values, done] = arguments;"
        "axe.run(document, {runOnly: {type: kind, values}, resultTypes: ['violations']}).then(done)",
        kind,
        values,
    )
    assert found["passes"] or found["violations"], "axe-core found nothing to check"
    return [
        f"{rule['id']}: {node['html'][:120]}: {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]
