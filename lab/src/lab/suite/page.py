"""``suite.html`` and ``suite.md``: the result of a suite, from its answer and its run directories alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.compare.tables import metric_note, metric_table
from lab.experiment import Catalogue
from lab.manifest import Manifest
from lab.pages import write as pages
from lab.pages.document import (
    Claim,
    Claims,
    Document,
    Headlines,
    Paragraph,
    Part,
    Section,
    present,
    section,
    sentence,
)
from lab.pages.plot import Chart
from lab.paths import Checkout
from lab.record import RECORD
from lab.report import numbers
from lab.report.data import local_time
from lab.series import Answer
from lab.suite import tables
from lab.suite.charts import latency_chart, ratios_chart, sweep_charts
from lab.suite.declaration import TIMES, Suite, read_suite
from lab.suite.figures import CaseFigures, collect, is_fitted
from lab.suite.findings import WITHIN, Judged, judge
from lab.suite.flames import EVENTS, flames_of
from lab.suite.sentences import GroupAnswer, Sentence, answer_alone, answer_group

PAGE, MARKDOWN = "suite.html", "suite.md"
TO_RESULTS = "../../"
"""The path from a suite's directory to results/."""
TONES = {"reproduced": "valid", "not reproduced": "invalid", "not comparable here": "suspect"}
HEADLINES_MAX = 8
FACTORS_NAMED_MAX = 16


@dataclass(frozen=True)
class Content:
    """A suite's page, with the charts and flame graphs that a published one keeps as files."""

    document: Document
    charts: list[Chart]
    pictures: dict[str, Path]
    """The pictures of the flame graphs, by name."""


def write(checkout: Checkout, answer: Answer) -> None:
    """Write both files into the answer's directory, each replaced as a whole."""
    pages.write(answer.directory(checkout.results), gather(checkout, answer).document)


def summary_lines(directory: Path) -> list[str]:
    """Return the headlines and the count of verdicts, as the page has them, for the terminal."""
    text = (directory / MARKDOWN).read_text(encoding="utf-8")
    return [re.sub(r"\\(.)", r"\1", line) for line in re.findall(r"^\*\*(.+)\*\*$", text, re.MULTILINE)]


def gather(checkout: Checkout, answer: Answer, *, link: str = TO_RESULTS) -> Content:
    """Read the runs and judge. `link` is the path to results/, empty for no links to runs.

    InputError if the suite is no longer declared.
    """
    suite, declared = read_suite(checkout, answer.name)
    collected = collect(Catalogue(checkout), checkout.results, answer, suite, declared)
    cases = list(collected.values())
    grouped = {name for group in suite.groups.values() for name in (group.baseline, *group.others)}
    further = [case for name, case in collected.items() if name not in grouped]
    manifests = [start.manifest for case in cases for start in sorted(case.starts, key=lambda one: one.run)]
    first = min(manifests, key=lambda manifest: manifest.run_id, default=None)
    answers = [answer_group(name, suite, collected) for name in suite.groups]
    alone = answer_alone(further)
    judged = [judge(finding, collected) for finding in suite.findings]
    headlines = [one.headline for one in answers]
    if not answers and len(alone) <= HEADLINES_MAX:
        headlines = [one.text for one in alone]
    if judged:
        counts = Counter[str](one.verdict for one in judged)
        headlines.append("Published findings: " + ", ".join(f"{counts[v]} {v}" for v in TONES if counts[v]))
    charts = [
        [ratios_chart(one.name, one.results), latency_chart(one.name, _cases_of(suite, one.name, collected))]
        for one in answers
    ]
    sweeps = sweep_charts(further)
    flames = flames_of(cases, link)
    groups = [
        _group(number, one, of_group, _cases_of(suite, one.name, collected), link)
        for number, (one, of_group) in enumerate(zip(answers, charts, strict=True), 1)
    ]
    others = "Other experiments" if groups else "Experiments"
    source = f" of {suite.source}" if suite.source else ""
    files = [(name, name) for name in (RECORD, MARKDOWN)] if link else []
    document = Document(
        file="suite",
        title=suite.title,
        also=answer.id,
        overline=[
            f"suite {answer.name}",
            local_time(first.phases[0].start) if first is not None and first.phases else answer.id,
            f"{first.runtime if first is not None else answer.request.get('runtime', '')} runtime",
            f"{len(answer.runs) - len(answer.missing)} of {len(answer.runs)} runs",
        ],
        head=present(
            Paragraph(suite.question, "question"),
            Headlines(headlines) if headlines else None,
            *(Paragraph(sentence(line), "gap") for line in _cautions(answer, suite, cases, manifests)),
        ),
        sections=[
            section(
                "findings",
                f"Published findings{source}",
                Claims([_judged(one, link) for one in judged]) if judged else None,
                name="Published findings",
            ),
            *groups,
            section(
                "others",
                others,
                *([_claims(alone, link)] if alone else []),
                *(Part(chart.label.partition(",")[0].partition(":")[0], [chart]) for chart in sweeps),
                tables.figure_table(others, others, further) if further else None,
            ),
            section("flames", "Flame graphs of the CPU", *flames.blocks, name="Flame graphs"),
            section("runs", "Runs", tables.run_table(answer, cases, link)),
            section(
                "environment",
                "Environment",
                tables.environment_table(first) if first is not None else Paragraph("No run has ended yet.", "gap"),
            ),
        ],
        made=f"Suite {answer.name} {answer.id}",
        beside=files,
    )
    drawn = [*sweeps, *(chart for of_group in charts for chart in of_group if chart is not None)]
    return Content(document, drawn, flames.pictures)


def _cases_of(suite: Suite, name: str, cases: dict[str, CaseFigures]) -> list[CaseFigures]:
    """Return the cases of a group, the baseline first."""
    return [cases[one] for one in (suite.groups[name].baseline, *suite.groups[name].others)]


def _group(number: int, found: GroupAnswer, charts: list[Chart | None], cases: list[CaseFigures], link: str) -> Section:
    ratios, latency = charts
    judged = [
        metric_table(
            result.metrics,
            WITHIN,
            name=f"metrics-{number}-{at}",
            caption=f"{name} against {cases[0].case} in each metric",
            sides=(str(cases[0].case), name),
            sample="rounds",
            folded=True,
        )
        for at, (name, result) in enumerate(found.results.items(), 1)
    ]
    return section(
        f"group-{number}",
        found.name,
        Paragraph(found.headline),
        _claims(found.sentences, link) if found.sentences else None,
        Part(
            "Against the baseline, round by round",
            present(ratios, *judged, Paragraph(metric_note(WITHIN, "rounds"), "note")),
        )
        if ratios is not None
        else None,
        Part("Latency by percentile", [latency]) if latency is not None else None,
        tables.figure_table(found.name, f"{found.name}: figures", cases),
        *(tables.category_table(found.name, event, cases) for event in EVENTS),
    )


def _claims(sentences: list[Sentence], link: str) -> Claims:
    return Claims([Claim(one.text, _runs(one.runs, link)) for one in sentences])


def _judged(one: Judged, link: str) -> Claim:
    return Claim(one.says, _runs(one.runs, link), one.verdict, TONES[one.verdict], one.ours, one.why)


def _runs(runs: Sequence[str], link: str) -> list[tuple[str, str]]:
    return [(run, f"{link}{run}/report.html" if link else "") for run in runs]


def _cautions(answer: Answer, suite: Suite, cases: list[CaseFigures], manifests: list[Manifest]) -> list[str]:
    cautions = []
    if answer.missing:
        cautions.append(f"incomplete: {len(answer.missing)} of {len(answer.runs)} runs missing; RESUME=1 continues")
    cautions += [f"{case.case} cannot run here: {case.refused}" for case in cases if case.refused]
    disturbed = sum(len(case.disturbed) for case in cases)
    if disturbed:
        were = "run was" if disturbed == 1 else "runs were"
        cautions.append(f"{disturbed} {were} disturbed by something else on this machine and left out of every claim")
    forced = sum(bool(start.troubles) for case in cases for start in case.starts)
    if forced:
        cautions.append(f"FORCE=1: {forced} of the runs that the claims rest on were disturbed by something else")
    starts = [start for case in cases for start in case.starts]
    unsteady = sum(start.manifest.validity is not None and start.manifest.validity.unsteady for start in starts)
    if unsteady:
        cautions.append(
            f"{unsteady} of the {len(starts)} runs that the claims rest on had no steady state: the service was still "
            "warming up, or it changed; a longer WARMUP avoids the first"
        )
    half = sum(len(case.incomplete) for case in cases)
    if half:
        cautions.append(
            f"{half} {'run' if half == 1 else 'runs'} did not end well and {'is' if half == 1 else 'are'} not used"
        )
    sources = {(m.environment.git.commit, m.environment.git.diff_hash) for m in manifests if m.environment.git}
    if len(sources) > 1:
        cautions.append(f"the runs are of {len(sources)} states of the source: they may be of different services")
    overrides = answer.request.get("overrides")
    given = overrides if isinstance(overrides, dict) else {}
    if given:
        cautions.append("set for this suite: " + ", ".join(f"{key} {value}" for key, value in given.items()))
    for leader, time, names in _inherited(answer, suite):
        cautions.append(f"{time}, as {leader} declares, for {', '.join(names)}")
    if is_fitted(answer):
        cautions.append(_fitted(answer))
    elif answer.request.get("scale") is not None:
        cautions.append(f"every declared rate is multiplied by {answer.request['scale']}")
    return cautions


def _inherited(answer: Answer, suite: Suite) -> list[tuple[str, str, list[str]]]:
    """Return each baseline with a time that other experiments have from it, such as "duration 20s", and these."""
    overrides = answer.request.get("overrides")
    found: dict[tuple[str, str], set[str]] = {}
    for planned in answer.runs:
        for key in (time.removesuffix("_s") for time in TIMES):
            leader = suite.leaders.get(planned.experiment)
            given = isinstance(overrides, dict) and key in overrides
            if leader is not None and key in planned.overrides and not given:
                found.setdefault((leader, f"{key} {planned.overrides[key]}"), set()).add(planned.experiment)
    return [(leader, time, sorted(names)) for (leader, time), names in found.items()]


def _fitted(answer: Answer) -> str:
    """Say by which factors the rates were fitted, each with its experiments if these are not many."""
    factors: dict[str, tuple[float, float]] = {}
    for planned in answer.runs:
        declared = float(planned.label.partition("@")[2] or 0)
        scaled = float(planned.overrides.get("rate", 0)) / declared if declared else planned.overrides.get("scale", 1)
        factors[planned.experiment] = max(factors.get(planned.experiment, (-1.0, 1.0)), (declared, float(scaled)))
    by_factor: dict[str, list[str]] = {}
    for name, (_, factor) in sorted(factors.items(), key=lambda one: one[1][1]):
        by_factor.setdefault("1" if factor == 1 else numbers.significant(factor, 3), []).append(name)
    if list(by_factor) == ["1"]:
        return "fitted to this machine, every rate stays as declared"
    in_words = f"factors from {next(iter(by_factor))} to {next(reversed(by_factor))}"
    if len(factors) <= FACTORS_NAMED_MAX:
        in_words = "; ".join(
            f"{'as declared' if factor == '1' else f'factor {factor}'} for {', '.join(names)}"
            for factor, names in by_factor.items()
        )
    return f"every declared rate is fitted to this machine: {in_words}"
