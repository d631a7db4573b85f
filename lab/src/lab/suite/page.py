"""``suite.html`` and ``suite.md``: the result of a suite, from its answer and its run directories alone."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from lab.experiment import Catalogue
from lab.manifest import Manifest
from lab.paths import Checkout
from lab.record import RECORD
from lab.report import numbers
from lab.report.chart import Chart
from lab.report.data import local_time
from lab.report.headline import sentence
from lab.report.markdown import markdown_table, markdown_text
from lab.report.page import asset, render
from lab.report.tables import Table
from lab.series import Answer
from lab.suite import tables
from lab.suite.charts import group_cases, latency_chart, ratio_chart, sweep_charts
from lab.suite.declaration import TIMES, Suite, read_suite
from lab.suite.figures import CaseFigures, collect, is_fitted
from lab.suite.findings import Judged, judge
from lab.suite.flames import EVENTS, Flames, flames_of
from lab.suite.sentences import GroupAnswer, Sentence, answer_alone, answer_group
from lab.whole_file import write_whole

PAGE, MARKDOWN = "suite.html", "suite.md"
TO_RESULTS = "../../"
"""The path from a suite's directory to results/."""
TONES = {"reproduced": "valid", "not reproduced": "invalid", "not comparable here": "suspect"}
HEADLINES_MAX = 8
FACTORS_NAMED_MAX = 16


@dataclass(frozen=True)
class GroupSection:
    """Everything of one group."""

    answer: GroupAnswer
    ratios: Chart | None
    latency: Chart | None
    figures: Table
    categories: list[Table]


@dataclass(frozen=True)
class Content:
    """What the HTML and the Markdown page both show."""

    name: str
    suite: Suite
    answer: Answer
    started: str
    cautions: list[str]
    groups: list[GroupSection]
    others: Table | None
    alone: list[Sentence]
    sweeps: list[Chart]
    judged: list[Judged]
    flames: Flames
    runs: Table
    environment: Table | None
    runtime: str

    @property
    def headlines(self) -> list[str]:
        """One line for each group; without groups, one for each experiment if there are few."""
        if self.groups or len(self.alone) > HEADLINES_MAX:
            return [group.answer.headline for group in self.groups]
        return [sentence.text for sentence in self.alone]

    @property
    def counted(self) -> str:
        """The number of published findings for each verdict: "2 reproduced, 1 not reproduced"."""
        counts = Counter[str](one.verdict for one in self.judged)
        return ", ".join(f"{counts[verdict]} {verdict}" for verdict in TONES if counts[verdict])


def write(checkout: Checkout, answer: Answer) -> None:
    """Write both files into the answer's directory, each replaced as a whole."""
    directory = answer.directory(checkout.results)
    content = gather(checkout, answer)
    for name, text in ((MARKDOWN, render_markdown(content)), (PAGE, render_page(content))):
        write_whole(directory / name, text)


def summary_lines(directory: Path) -> list[str]:
    """Return the headlines and the count of verdicts, as the page has them, for the terminal."""
    text = (directory / MARKDOWN).read_text(encoding="utf-8")
    return [_plain(line) for line in re.findall(r"^\*\*(.+)\*\*$", text, re.MULTILINE)]


def gather(checkout: Checkout, answer: Answer, *, link: str = TO_RESULTS) -> Content:
    """Read the runs and judge. InputError if the suite is no longer declared."""
    suite, declared = read_suite(checkout, answer.name)
    collected = collect(Catalogue(checkout), checkout.results, answer, suite, declared)
    groups = [_group(name, suite, collected) for name in suite.groups]
    grouped = {name for group in suite.groups.values() for name in (group.baseline, *group.others)}
    further = [case for name, case in collected.items() if name not in grouped]
    manifests = [
        start.manifest for case in collected.values() for start in sorted(case.starts, key=lambda one: one.run)
    ]
    first = min(manifests, key=lambda manifest: manifest.run_id, default=None)
    return Content(
        name=answer.name,
        suite=suite,
        answer=answer,
        started=_started(answer, first),
        cautions=_cautions(answer, suite, list(collected.values()), manifests),
        groups=groups,
        others=tables.figure_table("Other experiments" if groups else "Experiments", further) if further else None,
        alone=answer_alone(further),
        sweeps=sweep_charts(further),
        judged=[judge(finding, collected) for finding in suite.findings],
        flames=flames_of(list(collected.values()), link),
        runs=tables.run_table(answer, list(collected.values()), link),
        environment=tables.environment_table(first) if first is not None else None,
        runtime=first.runtime if first is not None else str(answer.request.get("runtime", "")),
    )


def _group(name: str, suite: Suite, cases: dict[str, CaseFigures]) -> GroupSection:
    found = answer_group(name, suite, cases)
    shown = group_cases(cases, suite.groups[name].baseline, suite.groups[name].others)
    categories = [tables.category_table(name, event, shown) for event in EVENTS]
    return GroupSection(
        found,
        ratio_chart(name, found.ratios),
        latency_chart(name, shown),
        tables.figure_table(name, shown),
        [table for table in categories if table is not None],
    )


def _started(answer: Answer, first: Manifest | None) -> str:
    return local_time(first.phases[0].start) if first is not None and first.phases else answer.id


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


def render_page(content: Content) -> str:
    """Return the whole page."""
    return render(
        "lab.suite",
        "suite.html.j2",
        c=content,
        tones=TONES,
        link=TO_RESULTS,
        answer_file=RECORD,
        own_style=asset("suite.css", "lab.suite"),
    )


def render_markdown(content: Content, *, pictures: dict[str, str] | None = None) -> str:
    """Return the same as Markdown. `pictures` maps names of charts and flame graphs to files beside it."""
    files = pictures or {}
    parts = [
        f"# {markdown_text(content.suite.title)}",
        f"*{markdown_text(content.suite.question)}*",
        f"Suite `{content.name}` of {content.started}, {content.runtime} runtime, {len(content.answer.runs)} runs.",
        "\n".join(f"- {markdown_text(sentence(line))}" for line in content.cautions),
        *[f"**{markdown_text(line)}**" for line in content.headlines],
        f"**{markdown_text(f'Published findings: {content.counted}')}**" if content.judged else "",
    ]
    if content.judged:
        source = f" ({content.suite.source})" if content.suite.source else ""
        parts += [
            f"## Published findings{source}",
            "| published | here | measured | why |\n|---|---|---|---|\n"
            + "\n".join(
                f"| {' | '.join(markdown_text(cell) for cell in (one.says, one.verdict, one.ours or '–', one.why))} |"
                for one in content.judged
            ),
        ]
    for group in content.groups:
        parts += [f"## {markdown_text(group.answer.name)}"]
        parts += ["\n".join(f"- {markdown_text(sentence.text)}" for sentence in group.answer.sentences)]
        parts += [markdown_text(group.answer.by_chance)]
        for chart in (group.ratios, group.latency):
            if chart is not None and chart.name in files:
                parts.append(f"![{markdown_text(chart.label)}]({files[chart.name]})")
        for table in (group.figures, *group.categories):
            parts += [f"### {markdown_text(table.caption)}", markdown_table(table), markdown_text(table.note)]
    if content.others is not None:
        parts += [f"## {content.others.caption}"]
        parts += ["\n".join(f"- {markdown_text(sentence.text)}" for sentence in content.alone)]
        parts += [
            f"![{markdown_text(chart.label)}]({files[chart.name]})" for chart in content.sweeps if chart.name in files
        ]
        parts += [markdown_table(content.others), markdown_text(content.others.note)]
    shown = [flame for flame in content.flames.shown if flame.name in files]
    if shown:
        parts += ["## Flame graphs of the CPU", content.flames.left_out]
        parts += [f"`{flame.name}`\n\n![Flame graph of {flame.name}]({files[flame.name]})" for flame in shown]
    for last in (content.runs, content.environment):
        if last is not None:
            parts += [f"## {last.caption}", markdown_table(last), markdown_text(last.note)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)
