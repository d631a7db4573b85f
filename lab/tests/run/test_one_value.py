"""Each percentile of a run is one text in all places: of served requests, unanswered ones counted as the longest."""

from __future__ import annotations

import json
import re
import tarfile
from html import unescape
from pathlib import Path

import pytest

from lab.report import numbers
from support.checkout import FakeCheckout

UNANSWERED = "400"
"""Of 2,400 requests in a repetition: 1,200 are answered within 0.8 ms, and 2,160, which are 90%, never are."""
REFUSED = "500"
"""Of the 2,000 answered requests of a repetition. They take 50 µs, and of the others 1,500 are served."""
BOUND = "≥ 1.20 ms"
TEXTS = {"p50": "794 µs", "p75": "1.09 ms", "p90": BOUND, "p99": BOUND, "max": BOUND}
TEXTS_OF_SERVED = {"p50": "827 µs", "p75": "1.15 ms", "p90": BOUND, "p99": BOUND, "max": BOUND}
SUITE = "title: One\nquestion: How long?\nsource: report Z\nexperiments: [fake]\n"
LOAD = {"script": "get.lua", "rate": 2000, "threads": 1, "connections": 1, "duration": "1s", "warmup": "0s"}


def _row(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def markdown_tables(text: str) -> list[list[dict[str, str]]]:
    """Return the tables of a Markdown page, each row by the names of its columns."""
    tables = []
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line.startswith("|")]
        if len(lines) > 2:
            head = _row(lines[0])
            tables.append([dict(zip(head, _row(line), strict=True)) for line in lines[2:]])
    return tables


def with_column(tables: list[list[dict[str, str]]], *columns: str) -> list[dict[str, str]]:
    return next(table for table in tables if set(columns) <= set(table[0]))


def html_rows(page: str, table: str) -> list[list[str]]:
    (body,) = re.findall(rf'<table[^>]*id="{table}".*?</table>', page, re.DOTALL)
    rows = re.findall(r"<tr.*?</tr>", body, re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]
    return [[unescape(re.sub(r"<[^>]*>", "", cell)).strip() for cell in row] for row in cells]


def texts_of(tiles: dict[str, str], of_served: str) -> list[str]:
    return [tiles[f"Latency {name}{of_served}"] for name in ("p50", "p99", "max")]


def in_report(report: str, of_served: str) -> dict[str, str]:
    tables = markdown_tables(report)
    (tiles,) = with_column(tables, f"Latency p50{of_served}")
    shown = {row["Percentile"]: row for row in with_column(tables, "Percentile")}
    column = list(shown["p50"])[1]
    table = {name: shown[name][column] for name in TEXTS}
    assert texts_of(tiles, of_served) == [table[name] for name in ("p50", "p99", "max")]
    return table


def in_page(page: str, of_served: str) -> dict[str, str]:
    tiles = {
        unescape(name): f"{unescape(value)} {unescape(unit)}".strip()
        for name, value, unit in re.findall(
            r'<dt>(.*?)</dt><dd><span class="value">(.*?)</span> <span class="unit">(.*?)</span>', page
        )
    }
    table = {row[0]: row[1] for row in html_rows(page, "percentile-table")}
    assert texts_of(tiles, of_served) == [table[name] for name in ("p50", "p99", "max")]
    return {name: table[name] for name in TEXTS}


def in_terminal(output: str) -> dict[str, str]:
    rows = re.findall(r"^latency (\S+)(?: of served)?\s+(.+?)\s*$", output, re.MULTILINE)
    return {name: text for name, text in rows if name in TEXTS}


def in_manifest(run: Path) -> dict[str, str]:
    summary = json.loads((run / "run.json").read_text())["summary"]
    latency = summary["served_ms"] or summary["latency_ms"]
    names = {"50": "p50", "75": "p75", "90": "p90", "99": "p99", "100": "max"}
    bound = {name: "≥ " if name in latency["lower_bounds"] else "" for name in names}
    return {names[p]: bound[p] + numbers.latency(latency["percentiles"][p]) for p in names}


@pytest.mark.parametrize("repeat", ["1", "2"])
@pytest.mark.parametrize("refused", ["0", REFUSED])
def test_each_percentile_is_one_text_in_all_places(
    checkout: FakeCheckout, tmp_path: Path, repeat: str, refused: str
) -> None:
    texts, of_served = (TEXTS, "") if refused == "0" else (TEXTS_OF_SERVED, ", served")
    p50_text = texts["p50"]
    checkout.experiment("fake", load=LOAD)
    checkout.write("experiments/suites/one.yaml", SUITE)
    unanswered = {"FAKE_UNANSWERED": UNANSWERED, "FAKE_REFUSED": refused, "COLUMNS": "200"}
    words = ("run", "fake", "--profile", "off", "--repeat", repeat)
    for _ in "ab":
        code, output = checkout.lab(*words, **unanswered)
        assert code == 0, output
    a, b = checkout.runs()
    assert in_report((b / "report.md").read_text(), of_served) == texts
    assert in_page((b / "report.html").read_text(), of_served) == texts
    assert in_terminal(output) == texts
    assert in_manifest(b) == texts

    code, output = checkout.lab("results", COLUMNS="200")
    assert code == 0, output
    newest = next(line for line in output.splitlines() if b.name in line)
    assert re.search(rf"  {p50_text} +{BOUND} +{BOUND}", newest), newest
    code, output = checkout.lab("index")
    assert code == 0, output
    rows = html_rows((checkout.root / "results/index.html").read_text(), "runs")
    shown = dict(zip(rows[0], next(row for row in rows if b.name in row[0]), strict=True))
    assert (shown["p50"], shown["p99"]) == (p50_text, BOUND)

    code, output = checkout.lab("compare", f"fake/{a.name}", f"fake/{b.name}", "--metric", "p50")
    assert code == 0, output
    (page,) = (checkout.root / "results/compare").glob("*/compare.md")
    told = page.read_text()
    if repeat == "1":  # a start each has no table
        assert f"latency p50 {p50_text} against {p50_text}" in told
    else:
        (p50,) = (row for row in with_column(markdown_tables(told), "Metric", "A") if "p50" in row["Metric"])
        assert (p50["A"], p50["B"]) == (p50_text, p50_text)
    assert re.search(rf"had no response: .*p99 {BOUND}", told)

    code, output = checkout.lab("export", f"fake/{b.name}", "--out", str(tmp_path / "run.tar.gz"))
    assert code == 0, output
    with tarfile.open(tmp_path / "run.tar.gz") as archive:
        (member,) = (name for name in archive.getnames() if name.endswith("report.md"))
        packed = archive.extractfile(member)
        assert packed is not None
        assert in_report(packed.read().decode(), of_served) == texts

    code, output = checkout.lab("suite", "one", "--warmup", "0s", "--rounds", repeat, "--force", **unanswered)
    assert code == 0, output
    assert f"p99 {BOUND}" in re.sub(" +", " ", output)
    (page,) = (checkout.root / "results/suite").glob("*/suite.md")
    tables = markdown_tables(page.read_text())
    (case,) = (row for row in with_column(tables, "Starts", "p50") if row["Experiment"] == "fake")
    assert (case["p50"], case["p99"], case["max"]) == (p50_text, BOUND, BOUND)
    assert {row["p99"] for row in with_column(tables, "Round", "p99")} == {BOUND}


def test_a_run_is_headed_by_what_ran(checkout: FakeCheckout) -> None:
    checkout.experiment("fake", title="GET at 100/s, in turns")
    code, output = checkout.lab("run", "fake", "--rate", "50", "--profile", "off", "--warmup", "0s")
    assert code == 0, output
    (run,) = checkout.runs()
    assert (run / "report.md").read_text().startswith("# GET at 50/s, in turns\n")
    assert "<h1>GET at 50/s, in turns</h1>" in (run / "report.html").read_text()
    assert checkout.manifest()["experiment"]["title"] == "GET at 50/s, in turns"
    assert "GET at 100/s" not in output


def test_what_writes_is_declared_by_the_script_and_not_guessed_from_its_name(checkout: FakeCheckout) -> None:
    checkout.write("loadgen/scripts/update.lua", "-- lab: writes\n")
    checkout.write("loadgen/scripts/put_nothing.lua", "-- lab: reads\n")
    checkout.write("loadgen/scripts/of_wrk2.lua", "request = function() return wrk.format() end\n")
    for script, expected in (("update.lua", True), ("put_nothing.lua", False), ("of_wrk2.lua", True)):
        checkout.experiment("fake", load={**LOAD, "script": script, "rate": 100})
        code, output = checkout.lab("run", "fake", "--profile", "off")
        assert code == 0, output
        checks = {check["name"]: check["detail"] for check in checkout.manifest()["validity"]["checks"]}
        assert (checks["page cache"] == "the load writes, and so does the service") == expected, script


def test_a_run_without_one_response_is_invalid_and_says_so(checkout: FakeCheckout) -> None:
    words = ("run", "fake", "--profile", "off", "--warmup", "0s", "--repeat", "2")
    code, output = checkout.lab(*words, FAKE_UNANSWERED="all")
    assert code == 0, output
    assert "verdict: invalid" in output
    told = "repetitions 1 and 2 have not one measured response"
    assert told in output
    (run,) = checkout.runs()
    assert told in (run / "report.md").read_text()
    assert told in (run / "report.html").read_text()
    code, output = checkout.lab("run", "fake", "--profile", "off", "--warmup", "0s", STRICT="1", FAKE_UNANSWERED="all")
    assert code == 3, output
    assert "the repetition has not one measured response" in output
