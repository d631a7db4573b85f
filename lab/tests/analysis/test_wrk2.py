"""The parser of wrk2's text: published reports, every unit, everything that is optional, and what people paste."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.wrk2_text import Report, bytes_text, print_report, time_text
from lab.analysis import LoadError, parse_load_text

PUBLISHED = sorted((Path(__file__).parent / "testdata" / "wrk2").glob("*.txt"))
STACK_GET = (Path(__file__).parent / "testdata/wrk2/stack-get-t4-c64-R70000-d1m.txt").read_text()


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.stem)
def test_a_published_report_is_read_whole(path: Path) -> None:
    load = parse_load_text(path.read_text(), path.name)
    assert load.url.startswith("http://")
    assert (load.threads, load.connections) in {(1, 1), (4, 64)}
    assert load.requests > 10_000
    assert load.requests_per_s is not None
    assert load.elapsed_s is not None
    assert load.requests / load.elapsed_s == pytest.approx(load.requests_per_s, rel=0.01)
    assert load.bytes_read is not None
    assert load.bytes_per_s is not None
    assert load.bytes_read / load.elapsed_s == pytest.approx(load.bytes_per_s, rel=0.02)
    assert list(load.latency_us.percentiles) == ["50", "75", "90", "99", "99.9", "99.99", "99.999", "100"]
    assert load.latency_us.count == load.latency_us.spectrum[-1].total_count
    assert load.latency_us.spectrum[-1].quantile == 1
    assert load.text is not None
    assert len(load.text.calibrations) == load.threads


def test_the_figures_are_those_of_the_report() -> None:
    load = parse_load_text(STACK_GET)
    assert load.requests == 3593938
    assert load.requests_per_s == 59899.55
    assert load.duration_s == load.elapsed_s == 60
    assert load.bytes_read == round(2.18 * 2**30)
    assert load.bytes_per_s == pytest.approx(37.22 * 2**20)
    assert load.latency_us.count == 2922865
    assert load.latency_us.mean == pytest.approx(4485914)
    assert load.latency_us.stdev == pytest.approx(2614780)
    assert load.latency_us.max == pytest.approx(8568832)
    assert load.latency_us.min == pytest.approx(168191)
    assert load.latency_us.percentiles["50"] == pytest.approx(5566463), "the spectrum is sharper than 5.57s"
    assert load.latency_us.percentiles["99"] == pytest.approx(8320000), "not a row of the spectrum"
    assert load.errors.total == 0
    assert load.text is not None
    assert load.text.requests_per_s is not None
    assert load.text.requests_per_s.max == pytest.approx(18910)
    assert load.text.latency_us is not None
    assert load.text.latency_us.within_stdev_percent == 62.46


def test_statuses_outside_2xx_are_counted() -> None:
    text = (Path(__file__).parent / "testdata/wrk2/get-hard-t1-c1-R1000-d1m.txt").read_text()
    assert parse_load_text(text).errors.status == 9


def test_socket_errors_are_counted_by_kind() -> None:
    load = parse_load_text(print_report(Report(errors=(1, 2, 3, 4), bad_status=5)))
    assert load.errors.model_dump() == {"connect": 1, "read": 2, "write": 3, "timeout": 4, "status": 5}


def test_without_samples_latencies_are_unknown_not_zero() -> None:
    load = parse_load_text(print_report(Report(count=0, spectrum=[(0.0, 1.0, 0)], requests=80)))
    assert load.requests == 80
    assert load.latency_us.count == 0
    assert load.latency_us.percentiles == {}
    assert load.latency_us.mean is None
    assert load.text is not None
    assert load.text.latency_us is not None
    assert load.text.latency_us.mean is None
    assert load.text.requests_per_s is not None
    assert load.text.requests_per_s.mean is None


def test_without_the_latency_option_the_thread_statistics_stand_in() -> None:
    load = parse_load_text(print_report(Report(with_latency=False, mean_us=1500, max_us=9000)))
    assert load.latency_us.count is None
    assert load.latency_us.mean == 1500
    assert load.latency_us.max == 9000
    assert load.latency_us.percentiles == {}


def test_uncorrected_latencies_are_kept_apart() -> None:
    percentiles = {"50": 1000.0, "99": 2000.0}
    load = parse_load_text(print_report(Report(uncorrected=True, percentiles_us=percentiles)))
    assert load.uncorrected_us is not None
    assert load.uncorrected_us.percentiles["99"] == 2000
    assert load.latency_us.percentiles["99"] == 2000
    assert parse_load_text(print_report(Report())).uncorrected_us is None


def test_without_calibration_lines_a_short_run_is_read() -> None:
    load = parse_load_text(print_report(Report(calibrations=0, duration_s=5)))
    assert load.text is not None
    assert load.text.calibrations == []
    assert load.duration_s == 5


@pytest.mark.parametrize(
    ("printed", "expected_s"),
    [("0.86m", 51.6), ("1.50h", 5400), ("850.12ms", 0.85012), ("20.00s", 20), ("999.00us", 999e-6)],
)
def test_every_unit_of_time_is_known(printed: str, expected_s: float) -> None:
    text = STACK_GET.replace("requests in 1.00m", f"requests in {printed}")
    assert parse_load_text(text).elapsed_s == pytest.approx(expected_s)


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("0.00B", 0),
        ("512.00B", 512),
        ("1.50KB", 1536),
        ("2.18GB", round(2.18 * 2**30)),
        ("1.00TB", 2**40),
        ("1.00PB", 2**50),
    ],
)
def test_every_unit_of_bytes_is_known(printed: str, expected: int) -> None:
    assert parse_load_text(STACK_GET.replace("2.18GB read", f"{printed} read")).bytes_read == expected


# Changes to a report when people paste it, by name.
PASTES: dict[str, Callable[[str], str]] = {
    "indented": lambda text: "".join(f"        {line}\n" for line in text.splitlines()),
    "quoted": lambda text: "".join(f"> {line}\n" for line in text.splitlines()),
    "boxed": lambda text: "".join(f"\t| {line} |\n" for line in text.splitlines()),
    "stripped": lambda text: "".join(f"{line.strip()}\n" for line in text.splitlines()),
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "bom": lambda text: "\ufeff" + text,
    "markdown": lambda text: (
        f"Here it is, 5.57s at the median:\n\n```\n$ wrk2 -t4 …\n{text}```\nRequests/sec: as said.\n"
    ),
    "progress": lambda text: "".join(f"50% done\r{line}\n" for line in text.splitlines()),
    "nbsp": lambda text: text.replace(" ", "\u00a0"),
    "stray byte": lambda text: "\xffb" + text,
    "log": lambda text: "".join(f"2026-11-29 08:50:21 wrk2-7c9f[12]: {line}\n" for line in text.splitlines()),
    "coloured": lambda text: "".join(f"\x1b[1;32m{line}\x1b[0m\x1b[K\n" for line in text.splitlines()),
    "json": lambda text: f'{{"output": {json.dumps(text.strip())}}}',
    "json lines": lambda text: json.dumps(text.splitlines(), indent=2),
    "json in json": lambda text: json.dumps(json.dumps("\x1b[32m" + text)),
    "forks": lambda text: text.replace("  4 threads", "Initialised 4 threads in 3 ms.\n  4 threads"),
}


@pytest.mark.parametrize("paste", PASTES.values(), ids=PASTES)
def test_pasted_text_is_read_alike(paste: Callable[[str], str]) -> None:
    assert parse_load_text(paste(STACK_GET)) == parse_load_text(STACK_GET)


@given(st.sampled_from(PUBLISHED), st.lists(st.sampled_from(sorted(PASTES)), max_size=4))
def test_a_published_report_that_was_pasted_several_times_is_read_alike(path: Path, hands: list[str]) -> None:
    published = path.read_text()
    text = published
    for name in hands:
        text = PASTES[name](text)
    assert parse_load_text(text) == parse_load_text(published)


@pytest.mark.parametrize(
    ("command", "rate"),
    [
        ("$ wrk2 -t4 -c64 -d1m -R70000 -L http://localhost:8000", 70000),
        ("wrk -t 4 -c 64 -R 70k -L http://x", 70000),
        ("./wrk --rate=2.5k http://x", 2500),
        ("wrk2 --rate 1M -L http://x", 1e6),
        ("a line that says -R5", None),
    ],
)
def test_the_offered_rate_is_taken_from_a_command_line_above(command: str, rate: float | None) -> None:
    assert parse_load_text(f"{command}\n{STACK_GET}").rate_per_s == rate


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not wrk2's output"),
        ("Benchmarking localhost (be patient)\nRequests per second: 5", "no line 'Running … test @ …'"),
        (STACK_GET[:3000], "the report is cut off: no line '… requests in …'"),
        (STACK_GET[: STACK_GET.index("Requests/sec")], "cut off: no line 'Requests/sec: …'"),
        (STACK_GET[: STACK_GET.index("Transfer/sec")], "cut off: no line 'Transfer/sec: …'"),
        (STACK_GET + STACK_GET, "holds 2 reports, on lines 1 and"),
        (
            "Running 1s test @ http://x\n  1 threads and 1 connections\n  Latency Distribution\n     50%    1.00ms\n",
            ": a report of wrk, not of wrk2: it has no constant rate",
        ),
    ],
)
def test_text_that_is_not_a_report_is_refused_with_a_reason(text: str, message: str) -> None:
    with pytest.raises(LoadError) as error:
        parse_load_text(text, "pasted.txt")
    assert message in error.value.message
    assert "pasted.txt" in error.value.message
    assert error.value.hint


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=300))
def test_every_text_gives_a_report_or_a_load_error(text: str) -> None:
    with pytest.raises(LoadError):
        parse_load_text(text)


@given(st.data())
def test_damage_to_a_report_is_an_error_of_its_own_or_harmless(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(STACK_GET) - 1))
    garbage = data.draw(st.text(max_size=5))
    text = STACK_GET[:at] + garbage + STACK_GET[at + len(garbage) :]
    try:
        load = parse_load_text(text)
    except LoadError:
        return
    assert load.requests >= 0
    assert all(v is None or math.isfinite(v) for v in load.latency_us.percentiles.values())


times_us = st.floats(0, 2 * 3600e6).map(lambda us: round(us, 1))
reports = st.builds(
    Report,
    threads=st.integers(1, 64),
    connections=st.integers(1, 10_000),
    requests=st.integers(0, 10**9),
    elapsed_s=st.floats(0.001, 7200),
    bytes_read=st.integers(0, 2**45),
    requests_per_s=st.floats(0, 1e7).map(lambda rate: round(rate, 2)),
    count=st.integers(1, 10**9),
    mean_us=times_us,
    stdev_us=times_us,
    max_us=times_us,
    percentiles_us=st.fixed_dictionaries(dict.fromkeys(("50", "99", "99.9", "100"), times_us)),
    errors=st.tuples(*[st.integers(0, 10**6)] * 4),
    bad_status=st.integers(0, 10**6),
    calibrations=st.integers(0, 8),
    uncorrected=st.booleans(),
)


@given(reports)
def test_printed_figures_are_read_back_within_their_rounding(report: Report) -> None:
    load = parse_load_text(print_report(report))
    assert (load.url, load.threads, load.connections) == (report.url, report.threads, report.connections)
    assert (load.requests, load.requests_per_s) == (report.requests, report.requests_per_s)
    assert load.elapsed_s == pytest.approx(report.elapsed_s, rel=0.012, abs=1e-8)
    assert load.bytes_read == pytest.approx(report.bytes_read, rel=0.012, abs=1)
    assert load.latency_us.count == report.count
    assert load.latency_us.mean == pytest.approx(report.mean_us, abs=0.51)
    assert load.latency_us.max == pytest.approx(report.max_us, abs=0.51)
    for name, value in report.percentiles_us.items():
        assert load.latency_us.percentiles[name] == pytest.approx(value, rel=0.012, abs=0.006)
    assert tuple(load.errors.model_dump().values()) == (*report.errors, report.bad_status)
    assert (load.uncorrected_us is not None) == report.uncorrected


@pytest.mark.parametrize(
    ("us", "printed"), [(51_600_000, "0.86m"), (850, "0.85ms"), (849, "849.00us"), (5_570_000, "5.57s"), (0, "0.00us")]
)
def test_the_printer_of_these_tests_prints_as_wrk2(us: float, printed: str) -> None:
    assert time_text(us) == printed
    assert bytes_text(2.18 * 2**30) == "2.18GB"
