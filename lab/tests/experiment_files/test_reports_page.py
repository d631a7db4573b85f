"""docs/reports.md has every statement of the five reports, and agrees with the suites on what judges it."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from lab.experiment import Catalogue
from lab.paths import Checkout
from lab.suite import read_suite, suite_names

ROOT = Path(__file__).resolve().parents[3]
CHECKOUT = Checkout(ROOT)
STATEMENTS = {"A": 13, "B": 20, "C": 26, "D": 36, "E": 12}


def rows() -> dict[str, list[str]]:
    """The cells of each statement on the page, by its number."""
    lines = (ROOT / "docs/reports.md").read_text().splitlines()
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if re.match(r"\| [A-E]\d", line)]
    assert len({row[0] for row in table}) == len(table), "a number is given twice"
    return {row[0]: row[1:] for row in table}


def judged() -> dict[str, set[str]]:
    """The suites that judge each statement by a rule: those with a finding that begins with its number."""
    found = defaultdict(set)
    for name in suite_names(CHECKOUT):
        for finding in read_suite(CHECKOUT, name)[0].findings:
            number = re.match(r"([A-E]\d+): ", finding.says)
            assert number, f"{name}: {finding.says!r} does not begin with a number of docs/reports.md"
            if finding.rule is not None:
                found[number[1]].add(name)
    return found


def test_the_page_has_every_statement_once_and_says_what_judges_it() -> None:
    numbers = [f"{report}{number}" for report, count in STATEMENTS.items() for number in range(1, count + 1)]
    assert list(rows()) == numbers
    for number, (says, judge, cpus) in rows().items():
        assert says, number
        assert judge, number
        assert cpus in ("", "2+"), number
    assert [cpus for _, _, cpus in rows().values()].count("2+") == 25


def test_the_page_names_the_suites_whose_rules_judge_a_statement() -> None:
    by_rule = judged()
    for number, (_, judge, _) in rows().items():
        only_suites = re.fullmatch(r"`[\w-]+`(, `[\w-]+`)*", judge)
        named = set(re.findall(r"`([\w-]+)`", judge)) if only_suites else set()
        assert named == by_rule.get(number, set()), number


def test_each_name_in_the_column_of_judges_exists() -> None:
    known = {*suite_names(CHECKOUT), *Catalogue(CHECKOUT).names()}
    for number, (_, judge, _) in rows().items():
        for name in re.findall(r"`([\w-]+)`", judge):
            assert name in known, f"{number}: {name}"
