"""The main job, `make experiment NAME=stack-get`, whole: every file of the run directory, opened by its own reader."""

from __future__ import annotations

import csv
import hashlib
import html
import itertools
import json
import re
import subprocess
from collections.abc import Callable
from datetime import datetime

import jsonschema
import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from PIL import Image
from selenium.webdriver import Chrome
from selenium.webdriver.support.wait import WebDriverWait

from lab.runtime.docker.monitoring import NO_GRAFANA
from support.chromium import entries

from .browser import console_errors, the_browser
from .conftest import CHECKOUT, DURATION_S, IN_A_CLUSTER, RATE, WARMUP_S, FinishedRun

EVENTS = ["cpu", "alloc", "lock"]
LOAD_FILES = ["load.txt", "load.json", "latency.hlog"]
PAGES = ["report.html"] + [f"profile/{event}{form}.html" for event in EVENTS for form in ("", "-threads", "-heatmap")]
PICTURES = [f"profile/{event}.png" for event in EVENTS]
PICTURE_WIDTH_PX = 1600
LABEL_PX_MIN = 14
FILES = [
    "run.json",
    "report.md",
    *([] if IN_A_CLUSTER else ["machine.csv", "processes.jsonl"]),  # of this machine's CPUs, not a cluster's
    "timeline.csv",
    "service.log",
    "profile/profile.jfr",
    "profile/profile.json",
    "profile/categories.json",
    "profile/tail.json",
    *PAGES,
    *PICTURES,
    *[f"profile/{event}.{form}" for event in EVENTS for form in ("svg", "collapsed")],
    *[f"{place}/{name}" for place in ("measure/1", "profile") for name in LOAD_FILES],
]


def manifest(run: FinishedRun) -> dict:
    return json.loads((run.directory / "run.json").read_text())


def load(run: FinishedRun, place: str = "measure/1") -> dict:
    return json.loads((run.directory / place / "load.json").read_text())


def test_it_ends_well_and_names_its_report(finished_run: FinishedRun) -> None:
    assert finished_run.exit_code == 0, finished_run.output[-4000:]
    unwrapped = finished_run.output.replace("\n", "")
    assert str(finished_run.directory.relative_to(CHECKOUT) / "report.html") in unwrapped
    assert manifest(finished_run)["validity"]["state"] in finished_run.output.lower()


@pytest.mark.parametrize("name", FILES)
def test_every_file_is_there_and_not_empty(finished_run: FinishedRun, name: str) -> None:
    assert (finished_run.directory / name).stat().st_size > 0


def test_run_json_follows_its_schema_and_says_what_happened(finished_run: FinishedRun) -> None:
    run = manifest(finished_run)
    schema = json.loads((CHECKOUT / "lab/src/lab/schemas/run.schema.json").read_text())
    jsonschema.validate(run, schema)
    assert run["complete"] is True
    assert run["runtime"] == finished_run.runtime
    assert {phase["outcome"] for phase in run["phases"]} <= {"ok", "skipped"}
    assert {"rate", "duration", "warmup"} <= set(run["experiment"]["overrides"])


def test_artifacts_are_listed_with_their_true_sizes_and_hashes(finished_run: FinishedRun) -> None:
    listed = {artifact["path"]: artifact for artifact in manifest(finished_run)["artifacts"]}
    assert set(FILES) - {"run.json"} <= set(listed)
    for path, artifact in listed.items():
        content = (finished_run.directory / path).read_bytes()
        assert artifact["bytes"] == len(content), path
        assert artifact["sha256"] == hashlib.sha256(content).hexdigest(), path


def test_every_get_was_a_hit_and_none_was_left_out(finished_run: FinishedRun) -> None:
    measured = load(finished_run)
    assert measured["rate_per_s"] == RATE
    assert measured["requests"] + measured["unfinished"]["count"] == pytest.approx(measured["requests_due"], rel=0.01)
    assert set(measured["errors"].values()) == {0}
    assert set(measured["status"]) == {"200"}


@pytest.mark.parametrize("place", ["measure/1", "profile"])
def test_the_hdr_log_agrees_with_the_text_report(finished_run: FinishedRun, place: str) -> None:
    directory = finished_run.directory / place
    merged = HdrHistogram(1, 24 * 3600 * 10**9, 3)
    reader = HistogramLogReader(str(directory / "latency.hlog"), merged)
    intervals = 0
    while (interval := reader.get_next_interval_histogram()) is not None:
        merged.add(interval)
        intervals += 1
    assert intervals >= DURATION_S / 2
    text = (directory / "load.txt").read_text()
    total = int(re.search(r"Total count\s*=\s*(\d+)", text).group(1))
    assert merged.get_total_count() == total
    spectrum = re.findall(r"^\s+([\d.]+)\s+([\d.]+)\s+(\d+)\s+([\d.]+|inf)$", text, re.MULTILINE)
    assert len(spectrum) > 20
    for value_ms, quantile, count, _ in spectrum:
        if 0.1 < float(quantile) < 0.9999:
            # By the rank: of the quantile six digits are printed, which far out may be another value's.
            expected_ms = merged.get_value_at_percentile(100 * int(count) / total) / 1e6
            assert float(value_ms) == pytest.approx(expected_ms, rel=0.01, abs=0.003), quantile


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_decode(finished_run: FinishedRun, name: str) -> None:
    with Image.open(finished_run.directory / name) as picture:
        picture.load()
        assert picture.width == PICTURE_WIDTH_PX
        assert len(picture.convert("RGB").getcolors(1 << 24)) > 3


# Makes the SVG that wide; returns each label, the height of its font, and how far it leaves its frame or the picture.
LABELS = """
const svg = document.documentElement;
const scale = arguments[0] / svg.getAttribute('width');
for (const side of ['width', 'height']) svg.setAttribute(side, scale * svg.getAttribute(side));
return [...svg.querySelectorAll('text')].filter((text) => text.textContent.trim()).map((text) => {
  const [own, around] = [text, text.parentNode.querySelector('rect') || svg].map((e) => e.getBoundingClientRect());
  return [text.textContent, scale * parseFloat(getComputedStyle(text).fontSize), own.right - around.right];
});
"""


@pytest.mark.browser
@pytest.mark.parametrize("event", EVENTS)
def test_the_labels_of_a_picture_are_readable_at_the_width_of_its_png(finished_run: FinishedRun, event: str) -> None:
    browser = the_browser()
    browser.get((finished_run.directory / f"profile/{event}.svg").as_uri())
    labels = browser.execute_script(LABELS, PICTURE_WIDTH_PX)
    assert labels
    assert [label for label, font_px, over_px in labels if font_px < LABEL_PX_MIN or over_px > 1] == []
    assert [entry for entry in entries(browser, "browser") if entry["level"] == "SEVERE"] == []


@pytest.mark.browser
@pytest.mark.parametrize("name", PAGES)
def test_pages_open_in_a_browser_without_an_error(finished_run: FinishedRun, name: str) -> None:
    assert console_errors(finished_run.directory / name) == []


PAINTED = "return document.getElementById(arguments[0]).toDataURL()"


def click_into(canvas: str, x: float, y_px: int) -> None:
    """Click into a canvas: `x` is a part of its width, `y_px` counts from its top, or from its foot if negative."""
    the_browser().execute_script(
        """
        const canvas = document.getElementById(arguments[0]);
        canvas.scrollIntoView({block: arguments[2] < 0 ? "end" : "start"});
        const box = canvas.getBoundingClientRect();
        const y = arguments[2] < 0 ? box.bottom + arguments[2] : box.top + arguments[2];
        const at = {clientX: box.left + arguments[1] * box.width, clientY: y, bubbles: true, cancelable: true};
        const names = ["mousemove", "mousedown", "mouseup", "click"];
        names.forEach((name) => canvas.dispatchEvent(new MouseEvent(name, at)));
        """,
        canvas,
        x,
        y_px,
    )


def wait_until_repainted(canvas: str, before: str, act: Callable[[], None] = lambda: None) -> None:
    def acted(browser: Chrome) -> bool:
        act()
        return bool(browser.execute_script(PAINTED, canvas) != before)

    WebDriverWait(the_browser(), 60).until(acted)


def search_for(word: str) -> str:
    """Search a page of the profiler; return which part it says matched."""
    browser = the_browser()
    browser.execute_script("window.prompt = () => arguments[0]; document.getElementById('search').click()", word)
    return str(browser.execute_script("return document.getElementById('matchval').textContent"))


@pytest.mark.browser
def test_a_flame_graph_answers_to_a_click_and_a_search(finished_run: FinishedRun) -> None:
    assert console_errors(finished_run.directory / "profile/cpu.html") == []
    browser = the_browser()
    whole = browser.execute_script(PAINTED, "canvas")
    percent = float(search_for("^one/nio/").rstrip("%"))
    assert 0 < percent <= 100
    wait_until_repainted("canvas", whole)
    browser.execute_script("document.getElementById('reset').click()")
    whole = browser.execute_script(PAINTED, "canvas")
    # The lowest row is the root: a frame of the third one is narrower.
    places = itertools.cycle([0.5, 0.1, 0.9, 0.3, 0.7])
    wait_until_repainted("canvas", whole, lambda: click_into("canvas", next(places), -40))
    assert [entry for entry in entries(browser, "browser") if entry["level"] == "SEVERE"] == []


@pytest.mark.browser
def test_a_heatmap_marks_what_a_search_finds(finished_run: FinishedRun) -> None:
    assert console_errors(finished_run.directory / "profile/cpu-heatmap.html") == []
    browser = the_browser()
    heat = browser.execute_script(PAINTED, "heatmap-canvas")
    search_for("one/nio/")
    wait_until_repainted("heatmap-canvas", heat)
    assert [entry for entry in entries(browser, "browser") if entry["level"] == "SEVERE"] == []


@pytest.mark.browser
def test_a_heatmap_shows_the_flame_graph_of_the_moment_that_is_clicked(finished_run: FinishedRun) -> None:
    assert console_errors(finished_run.directory / "profile/cpu-heatmap.html") == []
    browser = the_browser()
    flame = browser.execute_script(PAINTED, "canvas")
    # The columns, one for each second, are near the left edge, below a line of times.
    places = itertools.cycle([0.17, 0.14, 0.2, 0.12])

    def shows_the_server(browser: Chrome) -> bool:  # a moment may have samples of the JIT compiler alone
        click_into("heatmap-canvas", next(places), 60)
        repainted = browser.execute_script(PAINTED, "canvas") != flame
        return repainted and 0 < float(search_for("one/nio/").rstrip("%")) <= 100

    WebDriverWait(browser, 60).until(shows_the_server)
    assert [entry for entry in entries(browser, "browser") if entry["level"] == "SEVERE"] == []


def frame_names(page: str) -> list[str]:
    """The names in a flame graph's page, which holds each as a prefix of the one before it and the rest."""
    pool = re.search(r"^const cpool = \[\n(.*?)^\];", page, re.MULTILINE | re.DOTALL).group(1)
    names: list[str] = []
    for entry in re.findall(r"^'((?:[^'\\]|\\.)*)'", pool, re.MULTILINE):
        text = re.sub(r"\\(.)", r"\1", entry)
        names.append(names[-1][: ord(text[0]) - 32] + text[1:] if names else text)
    return names


def test_the_flame_graph_shows_every_layer(finished_run: FinishedRun) -> None:
    profile = json.loads((finished_run.directory / "profile/profile.json").read_text())
    stacks = (finished_run.directory / "profile/cpu.collapsed").read_text()
    page = (finished_run.directory / "profile/cpu.html").read_text()
    for frame in ["one/nio/", "lsmlab/server/", "lsmlab/storage/", "LinkedBlockingDeque"]:
        assert frame in stacks, frame
    assert any("lsmlab/storage" in name for name in frame_names(page))
    assert profile["events"]["cpu"]["samples"] >= 500
    assert str(profile["events"]["cpu"]["samples"]) in (finished_run.directory / "report.md").read_text().replace(
        ",", ""
    )


def test_a_get_spends_most_of_its_cpu_time_under_the_http_library(finished_run: FinishedRun) -> None:
    """The server is one-nio's: its frames carry the request, on the selector and where a worker sends the response.

    The JIT compiler's threads are left out: in a run as short as this one they take up to a third of the samples.
    """
    of_requests = under_library = 0
    for line in (finished_run.directory / "profile/cpu.collapsed").read_text().splitlines():
        stack, samples = line.rsplit(" ", 1)
        if "CompileBroker::compiler_thread_loop" not in stack:
            of_requests += int(samples)
            under_library += int(samples) if "one/nio/" in stack else 0
    assert under_library > 0.5 * of_requests


def test_the_timeline_has_a_row_a_second_over_all_phases(finished_run: FinishedRun) -> None:
    with (finished_run.directory / "timeline.csv").open() as file:
        rows = list(csv.DictReader(file))
    run = manifest(finished_run)
    started, ended = (datetime.fromisoformat(run["phases"][i][key]) for i, key in ((0, "start"), (-1, "end")))
    assert len(rows) <= (ended - started).total_seconds() + 2
    for phase in run["phases"]:
        if phase["name"] in ("measure", "profile"):
            inside = [row for row in rows if phase["start"] <= row["time"] <= phase["end"]]
            assert len(inside) >= DURATION_S / 4, f"{phase['name']}: it yields to the load, and still has rows"


@pytest.mark.skipif(IN_A_CLUSTER, reason="the CPUs of a cluster's run are not this machine's")
def test_the_audit_of_the_machine_costs_less_than_half_a_percent_of_a_cpu(finished_run: FinishedRun) -> None:
    with (finished_run.directory / "machine.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    watched = [row for row in rows if row["service_cpu_s"] and row["loadgen_cpu_s"]]
    assert len(watched) >= DURATION_S / 2
    cost = sum(float(row["sampler_cpu_s"]) for row in watched) / sum(float(row["interval_s"]) for row in watched)
    print(f"\n{finished_run.runtime}: the audit of the machine took {cost:.2%} of a CPU")
    assert cost < 0.005


@pytest.mark.torture
def test_everything_but_load_takes_half_a_minute_at_most(finished_run: FinishedRun) -> None:
    """Builds and dataset are cached or their phases left out; what remains is the lab's own overhead."""
    run = manifest(finished_run)
    load_s = 2 * (WARMUP_S + DURATION_S)
    spent = {
        phase["name"]: (datetime.fromisoformat(phase["end"]) - datetime.fromisoformat(phase["start"])).total_seconds()
        for phase in run["phases"]
        if phase["name"] not in ("build", "dataset")
    }
    assert sum(spent.values()) - load_s <= 30, spent


def test_a_run_in_containers_without_grafana_says_so_in_its_report(finished_run: FinishedRun) -> None:
    if finished_run.runtime != "docker" or "grafana" in manifest(finished_run)["environment"]["images"]:
        pytest.skip("the docker runtime alone starts Grafana, and misses it only if its image is not here")
    for name in ("report.md", "report.html"):
        assert NO_GRAFANA in html.unescape((finished_run.directory / name).read_text()), name


def test_nothing_is_left_behind(finished_run: FinishedRun, tmp_path_factory: pytest.TempPathFactory) -> None:
    listing = ["pgrep", "-af", f"{CHECKOUT}/(service/server/target/service|loadgen/target/release)/"]
    processes = subprocess.run(listing, capture_output=True, text=True, check=False).stdout.splitlines()
    # A test beside this one may have started the service, with its files among those of all tests.
    of_tests = str(tmp_path_factory.getbasetemp().parent)
    assert [line for line in processes if of_tests not in line] == []
    work = CHECKOUT / ".cache" / "work"
    assert not work.exists() or list(work.iterdir()) == []
    if finished_run.runtime == "kubernetes":
        namespace = ["kubectl", "get", "namespace", "lsmlab", "--ignore-not-found"]
        assert subprocess.run(namespace, capture_output=True, text=True, check=True).stdout == ""
    if finished_run.runtime == "docker":
        of_the_stack = ["--filter", "label=com.docker.compose.project=lsmlab"]
        left = subprocess.run(
            ["docker", "ps", "-aq", *of_the_stack, "--filter", "label=com.docker.compose.service=service"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert left.stdout == ""


def test_the_slowest_seconds_are_compared_with_the_rest(finished_run: FinishedRun) -> None:
    tail = json.loads((finished_run.directory / "profile/tail.json").read_text())
    assert "refused" not in tail
    assert len(tail["seconds"]) == 3
    assert {"cpu", "alloc"} <= set(tail["events"])
    assert "The slowest seconds" in (finished_run.directory / "report.html").read_text()
