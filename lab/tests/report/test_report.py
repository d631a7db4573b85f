"""The report: whole runs, and what is left of runs that were cut short, without a browser."""

from __future__ import annotations

import base64
import io
import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from PIL import Image

from lab.analysis import judge, summarise
from lab.manifest import Censored, Manifest, ManifestError, RateChoice
from lab.report import write
from lab.report.pictures import BYTES_MAX, embed
from report.synthesis import Shape, engine_event, make_run


class Page(HTMLParser):
    """What a page holds: its links, sources, ids, texts; and whether its elements nest."""

    VOID = frozenset({"meta", "link", "img", "br", "path", "line", "rect", "circle"})

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.links: list[str] = []
        self.sources: list[str] = []
        self.ids: list[str] = []
        self.headings: list[str] = []
        self.words: list[str] = []
        self.images_without_alt = 0
        self.feed(text)
        assert self.open == [], self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "a":
            self.links.append(values.get("href") or "")
        if "src" in values:
            self.sources.append(values["src"] or "")
        if tag == "img" and not values.get("alt"):
            self.images_without_alt += 1
        if "id" in values:
            self.ids.append(values["id"] or "")
        if tag in ("h1", "h2", "h3"):
            self.headings.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag, f"</{tag}> in {self.open}"

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))


def report(run: Path) -> tuple[Page, str]:
    write(run)
    return Page((run / "report.html").read_text(encoding="utf-8")), (run / "report.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("run"), Shape(repetitions=2))


@pytest.fixture(scope="module")
def whole(run: Path) -> tuple[Page, str]:
    return report(run)


def test_the_page_needs_nothing_from_elsewhere(whole: tuple[Page, str], run: Path) -> None:
    page, _ = whole
    assert all(source.startswith("data:") for source in page.sources)
    text = (run / "report.html").read_text(encoding="utf-8")
    rules = re.sub(r"url\(data:[^)]*\)", "", text)
    assert "url(" not in rules
    assert "@import" not in rules
    for link in page.links:
        assert link.startswith("#") or (run / link).is_file(), link
        assert not link.startswith("/")
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)


def test_the_page_stays_light(run: Path, whole: tuple[Page, str]) -> None:
    assert (run / "report.html").stat().st_size < 1_500_000


def test_headings_and_pictures_can_be_read_aloud(whole: tuple[Page, str]) -> None:
    page, _ = whole
    assert page.headings[0] == "h1"
    assert page.headings.count("h1") == 1
    levels = [int(heading[1]) for heading in page.headings]
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert page.images_without_alt == 0
    assert len(page.ids) == len(set(page.ids))


def test_figures_tables_and_charts_are_those_of_the_manifest(whole: tuple[Page, str], run: Path) -> None:
    page, markdown = whole
    manifest = Manifest.read(run / "run.json")
    assert manifest.summary is not None
    p99 = manifest.summary.latency_ms.percentiles["99"]
    for text in (page.text, markdown):
        assert f"{p99 * 1e3:.0f} µs" in text
        assert "80,000" in text, "samples of both repetitions"
        assert "AMD EPYC 7R13" in text
        assert "12,874" in text, "CPU samples"
        assert "dao get" in text
        assert "measure 2" in text
        assert "Published" in text
        assert "Set for this run: warmup 2s" in text
        assert "In the queue 45.0 µs" in re.sub(r"[|\s]+", " ", text)
        assert "Written by flushes" in text
    for chart in (
        "percentiles",
        "latency-time",
        "lsm-time",
        "rate-time",
        "activity-flush",
        "activity-garbage-collection",
    ):
        assert f"chart-{chart}" in page.ids
    assert "Nothing to see of: Compaction, Held-back writes, Steal." in page.text


def test_every_artifact_is_listed_with_its_hash(whole: tuple[Page, str], run: Path) -> None:
    page, markdown = whole
    for artifact in Manifest.read(run / "run.json").artifacts:
        assert artifact.path in page.links
        assert artifact.sha256 in page.text
        assert artifact.sha256 in markdown


def test_both_forms_have_the_same_rows(whole: tuple[Page, str], run: Path) -> None:
    _, markdown = whole
    html = (run / "report.html").read_text(encoding="utf-8")
    rows_html = len(re.findall(r"<tr>", html)) - len(re.findall(r"<thead", html))
    body = [line for line in markdown.splitlines() if line.startswith("| ")]
    tables = len([line for line in markdown.splitlines() if re.fullmatch(r"\|(---:?\|)+", line)])
    assert rows_html == len(body) - tables - 1, "all but the headings and the row of key figures"


def test_stops_of_charts_are_json_inside_the_plot(run: Path, whole: tuple[Page, str]) -> None:
    html = (run / "report.html").read_text(encoding="utf-8")
    found = re.findall(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)
    assert len(found) > 8
    for text in found:
        stops = json.loads(text)
        assert all(0 <= at <= 1 and title and lines for at, title, lines, *_ in stops)


def test_a_title_is_text_never_markup(tmp_path: Path) -> None:
    title = '</script><script>alert("x")</script> <b>&amp; | *bold* _`[a](b)`'
    make_run(tmp_path, Shape(title=title, profiled=False, seconds=2))
    page, markdown = report(tmp_path)
    assert title in "".join(page.words)
    assert "<script>alert" not in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script>" not in markdown.replace("\\<", "")
    assert "\\*bold\\*" in markdown


def test_writing_twice_gives_the_same_report(tmp_path: Path) -> None:
    make_run(tmp_path, Shape(seconds=2))
    write(tmp_path)
    first = [(tmp_path / name).read_bytes() for name in ("report.html", "report.md")]
    write(tmp_path)
    assert [(tmp_path / name).read_bytes() for name in ("report.html", "report.md")] == first
    assert not list(tmp_path.glob(".report*"))


# The verdict, and what is missing.


def test_a_saturated_service_is_named_beside_the_verdict(tmp_path: Path) -> None:
    page, markdown = report(make_run(tmp_path, Shape(rate=3000, capacity=2500, seconds=4, profiled=False)))
    for text in (page.text, markdown):
        assert "one of an overloaded service" in text
        assert "Offered rate not reached: 2,500 of 3,000 requests/s." in text
    assert "valid saturated" in page.text


def test_reasons_of_a_suspect_run_are_said_first(tmp_path: Path) -> None:
    page, markdown = report(make_run(tmp_path, Shape(errors={"timeout": 30}, seconds=4, profiled=False)))
    for text in (page.text, markdown):
        assert text.index("30 errors in 8,000 requests (0.38%): 30 timed out.") < text.index("Latency p50")
    assert "suspect" in page.text


def test_a_run_that_was_interrupted_shows_what_it_left(tmp_path: Path) -> None:
    page, markdown = report(make_run(tmp_path, Shape(outcome="interrupted", judged=False)))
    for text in (page.text, markdown):
        assert "This run was not judged: it ended before its analysis." in text
        assert "The phase measure was interrupted: interrupted by Ctrl-C." in text
        assert "The profiled repetition left no report" in text
    assert "chart-percentiles" in page.ids


def test_a_run_with_nothing_but_a_manifest_is_reported(tmp_path: Path) -> None:
    make_run(tmp_path, Shape(outcome="failed", judged=False, timeline=False))
    for path in sorted((tmp_path / "measure").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    page, markdown = report(tmp_path)
    for text in (page.text, markdown):
        assert "No repetition left a report" in text
        assert "There is no timeline.csv" in text
    assert "No latencies were recorded." in page.text


def test_a_load_without_a_single_answer_is_reported(tmp_path: Path) -> None:
    run = make_run(tmp_path, Shape(profiled=False, seconds=2, judged=False))
    document = json.loads((run / "measure/1/load.json").read_text())
    nothing: dict[str, object] = {"count": 0, "min": None, "mean": None, "stdev": None, "max": None, "percentiles": {}}
    document |= {"requests": 0, "requests_per_s": 0.0, "latency_us": nothing, "uncorrected_us": nothing, "series": []}
    document |= {"send_lag_us": nothing, "errors": {**document["errors"], "timeout": 64}, "status": {}}
    (run / "measure/1/load.json").write_text(json.dumps(document))
    for name in ("load.txt", "latency.hlog"):
        (run / "measure/1" / name).unlink()
    manifest = Manifest.read(run / "run.json")
    manifest.summary = summarise(run, rate_offered_per_s=2000)
    manifest.validity = judge(run, manifest)
    manifest.write(run / "run.json")
    assert manifest.validity.state == "invalid"
    page, markdown = report(run)
    assert "No latencies were recorded." in page.text
    for text in (page.text, markdown):
        assert "Do not use these figures." in text
        assert "64 timed out" in text


def test_another_load_generators_text_is_enough(tmp_path: Path) -> None:
    page, markdown = report(make_run(tmp_path, Shape(hlog=False, json=False, profiled=False, timeline=False)))
    assert "chart-percentiles" in page.ids
    for text in (page.text, markdown):
        assert "wrote no histogram log" in text
        assert "does not write latency.hlog, load.json" in text or "does not write load.json, latency.hlog" in text


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("timeline.csv", "nonsense\n", "timeline.csv:1: not a timeline"),
        ("profile/load.json", "{", "profile/load.json:1: not JSON"),
        ("profile/cpu.png", "no picture", "cpu.png cannot be decoded"),
        ("profile/categories.json", "[]", "12,874 samples"),
        ("profile/profile.json", "{}", "CPU engine perf_events"),
    ],
)
def test_a_damaged_file_costs_only_itself(tmp_path: Path, name: str, content: str, said: str) -> None:
    make_run(tmp_path, Shape(seconds=2))
    (tmp_path / name).write_text(content)
    page, _ = report(tmp_path)
    assert said in page.text
    assert "chart-percentiles" in page.ids


def test_shares_of_code_have_intervals_and_the_recording_says_how_far_to_trust_it(tmp_path: Path) -> None:
    page, markdown = report(make_run(tmp_path, Shape(seconds=2)))
    for text in (page.text, markdown.replace("\\", "")):
        assert "21.0% [19.9, 22.1]" in text  # select
        assert "workers" in text
        assert "account for 6.4 s of the 6.6 s of CPU" in text
        assert "12 samples were lost" in text
        assert "a reason to doubt" in text
        assert "synchronisation takes 6.0% (queue 6.0% [5.7, 6.3])" in text


@pytest.mark.parametrize(
    ("name", "comparable"),
    [("warmup", True), ("repeat", True)]
    + [(name, False) for name in ("engine", "duration", "workers", "selectors", "queue_capacity", "variant")],
)
def test_a_published_figure_is_one_of_the_experiment_as_declared(tmp_path: Path, name: str, comparable: bool) -> None:
    run = make_run(tmp_path, Shape(profiled=False, seconds=2))
    manifest = Manifest.read(run / "run.json")
    manifest.experiment.overrides = {name: "another"}
    manifest.write(run / "run.json")
    write(run)
    assert ("was set for this run" not in (run / "report.md").read_text()) == comparable


def test_published_shares_stand_beside_ours_as_sentences(tmp_path: Path) -> None:
    page, markdown = report(make_run(tmp_path, Shape(seconds=2)))
    for text in (page.text, markdown.replace("\\", "")):
        assert "Synchronisation: 6.0% [5.7, 6.3] of CPU; the published report found 20–25%." in text
        waiting = "of the time spent waiting for locks; the published report found at least 70%."
        assert re.search(rf"The queue: 87\.0% \[82\.[67], 91\.[34]\] {waiting}", text)


def test_the_slowest_seconds_name_the_code_and_what_went_on(tmp_path: Path) -> None:
    page, markdown = report(make_run(tmp_path, Shape()))
    for text in (page.text, re.sub(r"[|\s]+", " ", markdown.replace("\\", ""))):
        assert "The 3 slowest seconds of the profiled repetition, whose 99th percentile of latency was 12.2 ms" in text
        assert "CPU flush 131.0 samples 100.0 samples +31.0%" in text
        assert "CPU lsmlab/storage/lsm/Flusher.add 60.0 samples 0.0 samples only there" in text
        assert "select 80.0" not in text, "chance explains it"
        assert re.search(r"38\.0 ms (\| )?flush 700 ms", text)
        assert "compaction L0 → L1" in text
    links = re.findall(r'<a href="([^"]*-tail[^"]*)">(CPU|Lock)', (tmp_path / "report.html").read_text())
    assert links == [("profile/cpu-tail.svg", "CPU"), ("profile/cpu-tail-reverse.svg", "CPU")], "locks show noise"


@pytest.mark.parametrize(
    ("tail", "said"),
    [
        ({"refused": "6 seconds in common: at least 9 are needed"}, "6 seconds in common: at least 9 are needed."),
        ({"events": {"cpu": {}}, "seconds": [{"start_ms": 0, "latency_ms": 3.0}]}, "profile/tail.json is damaged"),
        ({"events": {"cpu": {"categories": [], "methods": []}}, "seconds": [{"start_ms": 0, "latency_ms": 3.0}]},
         "No category of code and no method ran more or less"),
        ({}, ""),
    ],
)  # fmt: skip
def test_a_tail_that_cannot_be_attributed_is_said_to_be_so(tmp_path: Path, tail: dict[str, object], said: str) -> None:
    make_run(tmp_path, Shape(seconds=2))
    (tmp_path / "profile/tail.json").write_text(json.dumps(tail))
    page, markdown = report(tmp_path)
    assert said in page.text
    assert said in markdown.replace("\\", "")
    assert ("The slowest seconds" in page.text) == bool(tail)


def test_the_timeline_of_the_engine_has_a_bar_for_each_event(run: Path, whole: tuple[Page, str]) -> None:
    html = (run / "report.html").read_text(encoding="utf-8")
    figure = html[html.index('id="chart-lsm-time"') :]
    figure = figure[: figure.index("</figure>")]
    loads = 3  # two repetitions and the profiled one
    for kind, number in (("flush", 1), ("compaction", 2), ("stall", 1), ("sync", 1)):
        bars = re.findall(rf'<rect class="block {kind}" data-stop="(\d+)"', figure)
        assert len(bars) == 2 * number * loads, f"{kind}, wide and narrow"
    text = re.search(r'<script type="application/json">(.*?)</script>', figure, re.DOTALL)
    assert text is not None
    stops = json.loads(text[1])
    bar = re.search(r'class="block compaction" data-stop="(\d+)"', figure)
    assert bar is not None
    _, title, lines, only_on_its_mark = stops[int(bar[1])]
    assert title.endswith("compaction L0 → L1")
    assert only_on_its_mark
    assert ["", "written", "141 MiB"] in lines
    assert ["", "took", "1.90 s"] in lines
    for lane in ("flush", "L0 → L1", "L1 → L2", "stalls", "syncs"):
        assert f">{lane}</text>" in figure
    order = [figure.index(f">{lane}</text>") for lane in ("flush", "L0 → L1", "L1 → L2", "stalls")]
    assert order == sorted(order)
    for css in ("side-a", "side-b", "side-c"):
        assert len(re.findall(rf'<path class="line {css}"', figure)) >= 2, "wide and narrow"
    over_time = [{name: value for _, name, value in lines} for _, _, lines, *mark in stops if not mark]
    assert {each["read amplification"] for each in over_time} == {"1.25"}
    written = [float(each["write amplification"]) for each in over_time]
    assert min(written) == 1.0
    assert max(written) >= 1.5, "it grows by the flush in the middle of each repetition"


def test_more_events_than_can_be_drawn_are_counted(tmp_path: Path) -> None:
    make_run(tmp_path, Shape(seconds=4, profiled=False))
    start = Manifest.read(tmp_path / "run.json").phases[-3].start
    assert Manifest.read(tmp_path / "run.json").phases[-3].name == "measure"
    lines = [engine_event(start, event="flush", ms=1.0 + i / 1000, bytes=1000) for i in range(1_100)]
    (tmp_path / "service.log").write_text("\n".join(lines) + "\n")
    page, _ = report(tmp_path)
    assert "The 100 shortest events are not drawn." in page.text


def test_what_profiling_cost_is_told_with_repetitions_only(tmp_path: Path) -> None:
    one, two = (make_run(tmp_path / str(n), Shape(repetitions=n, seconds=3)) for n in (1, 2))
    for run in (one, two):
        write(run)
    assert "What profiling cost is not known" in (one / "report.md").read_text()
    assert "One profiled repetition against 2 others" in (two / "report.md").read_text()


def test_a_published_figure_is_not_set_beside_another_load(tmp_path: Path) -> None:
    make_run(tmp_path, Shape(seconds=2, profiled=False))
    page, _ = report(tmp_path)
    assert "published 1.60 ms" in page.text
    manifest = Manifest.read(tmp_path / "run.json")
    manifest.experiment.overrides["rate"] = 2000
    manifest.write(tmp_path / "run.json")
    page, _ = report(tmp_path)
    assert "published 1.60 ms" not in page.text
    assert "another rate was set for this run" in page.text


def test_a_reference_with_a_load_of_its_own_is_named_with_both_figures(tmp_path: Path) -> None:
    make_run(tmp_path, Shape(seconds=2, profiled=False, rate=2000))
    manifest = Manifest.read(tmp_path / "run.json")
    own = {"rate_per_s": 70000, "connections": 64, "duration_s": 60.0, "cpus": 8}
    manifest.experiment.resolved["reference"] = {**manifest.experiment.resolved["reference"], **own}  # type: ignore[dict-item]
    manifest.write(tmp_path / "run.json")
    page, _ = report(tmp_path)
    assert "rate 70,000/s there, 2,000/s here; duration 60 s there, 2 s here." in page.text
    assert "That machine had 8 CPUs in all; here are 1 for the service and 1 for the load generator." in page.text
    assert "published 1.60 ms" not in page.text


def test_how_the_rate_came_stands_in_the_report(tmp_path: Path) -> None:
    make_run(tmp_path, Shape(seconds=2, profiled=False, rate=2000))
    manifest = Manifest.read(tmp_path / "run.json")
    manifest.experiment.rate = RateChoice(how="scaled", declared_per_s=20000, scale=0.1)
    manifest.write(tmp_path / "run.json")
    page, _ = report(tmp_path)
    assert "SCALE=0.1; declared are 20,000/s" in page.text


@pytest.mark.parametrize("content", [None, "{}"])
def test_without_a_manifest_there_is_no_report(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    with pytest.raises(ManifestError):
        write(tmp_path)
    assert not (tmp_path / "report.html").exists()


# Pictures.


def test_a_picture_is_redrawn_within_its_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    budget = BYTES_MAX // 8
    monkeypatch.setattr("lab.report.pictures.BYTES_MAX", budget)
    path = tmp_path / "cpu.png"
    Image.effect_noise((1900, 150), 90).convert("RGB").save(path)
    assert path.stat().st_size > 3 * budget
    picture = embed(path)
    assert not picture.uri or len(picture.uri) < budget * 1.4
    assert picture.uri or picture.problem == "cpu.png is too large to be shown here"


def test_a_small_picture_keeps_its_size(tmp_path: Path) -> None:
    Image.new("RGB", (800, 300), "orange").save(tmp_path / "cpu.png")
    picture = embed(tmp_path / "cpu.png")
    assert picture.uri.startswith("data:image/webp;base64,")
    assert (picture.width, picture.height) == (800, 300)


def test_rare_colours_are_kept_for_they_mean_something(tmp_path: Path) -> None:
    original = Image.effect_noise((1600, 200), 40).convert("RGB")
    colours = ((0xF4, 0xA3, 0xA0), (0x94, 0xD2, 0xCD), (0xF9, 0xD5, 0x7E))
    for i, colour in enumerate(colours):
        original.paste(colour, (10 + 20 * i, 180, 22 + 20 * i, 192))
    original.save(tmp_path / "cpu.png")
    uri = embed(tmp_path / "cpu.png").uri
    with Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2]))) as shown:
        assert [shown.convert("RGB").getpixel((16 + 20 * i, 186)) for i in range(3)] == list(colours)


def judged_again(run: Path, **changes: object) -> tuple[Page, str]:
    manifest = Manifest.read(run / "run.json")
    assert manifest.summary is not None
    for part in (manifest.summary, manifest.summary.repetitions[0]):
        for name, value in changes.items():
            setattr(part, name, value)
    manifest.validity = judge(run, manifest)
    manifest.write(run / "run.json")
    return report(run)


def test_a_percentile_that_the_generator_moved_is_marked_and_stands_beside_its_net_value(tmp_path: Path) -> None:
    page, markdown = report(make_run(tmp_path, Shape(profiled=False, seconds=5, moved={"99": 3.0})))
    row = next(line for line in markdown.splitlines() if line.startswith("| p99 "))
    assert row.count("*") == 1
    assert "Net" in markdown
    assert "It moved this percentile by more than 10% and 100 µs" in page.text


def test_percentiles_among_unanswered_requests_are_lower_bounds(tmp_path: Path) -> None:
    run = make_run(tmp_path, Shape(profiled=False, seconds=5))
    censored = Censored(count=1400, from_percentile=86.0, percentiles_ms={"50": 0.25, "90": None, "99": None})
    page, markdown = judged_again(run, censored=censored)
    rows = {line.split("|")[1].strip(): line.split("|")[2] for line in markdown.splitlines() if line.startswith("| p")}
    assert "≥" in rows["p90"]
    assert "≥" in rows["p99"]
    assert "≥" not in rows["p50"]
    assert "1,400 requests had no answer at the end" in page.text


def test_refusals_put_goodput_and_the_latency_of_served_requests_in_front(tmp_path: Path) -> None:
    page, markdown = report(make_run(tmp_path, Shape(profiled=False, seconds=5, errors={"status": 4000})))
    assert "Latency p50, served" in page.text
    assert "40.0% refused" in page.text
    assert "| Served |" in markdown
