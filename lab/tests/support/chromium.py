"""Headless Chromium, and what makes a page hard to read, as scripts that return the elements that are."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

# Contrast of every visible text with what lies behind it (WCAG 2.2, 1.4.3): below 4.5, or 3 for large text.
LOW_CONTRAST = """
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
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
  if (element.closest(".unseen, .skip, script, style")) continue;
  const style = getComputedStyle(element);
  const ink = parse(element.closest("svg") ? style.fill : style.color);
  const [one, two] = [luminance(ink), luminance(behind(element))].sort((a, b) => b - a);
  const ratio = (one + 0.05) / (two + 0.05);
  const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
  if (ratio < (large ? 3 : 4.5)) found.push(`${ratio.toFixed(2)} ${walker.currentNode.data.trim()}`);
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
CLIPPED_TEXT = """
const cut = [];
for (const svg of document.querySelectorAll("svg.plot")) {
  if (!svg.checkVisibility()) continue;
  const box = svg.getBoundingClientRect();
  for (const text of svg.querySelectorAll("text")) {
    const own = text.getBoundingClientRect();
    if (own.left < box.left - 9 || own.right > box.right + 9) cut.push(text.textContent);
  }
}
return cut;
"""
TOUCHING_TICKS = """
const touching = [];
for (const svg of document.querySelectorAll("svg.plot")) {
  if (!svg.checkVisibility()) continue;
  const ticks = [...svg.querySelectorAll("text.tick")].map((t) => [t.textContent, t.getBoundingClientRect()]);
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
    return Chrome(options=options, service=Service(shutil.which("chromedriver")))


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
