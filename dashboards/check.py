#!/usr/bin/env python3
"""Checks the dashboards, the rules and the configuration of this room.

Without arguments: the room's own tests, the structure of every dashboard, the syntax of every expression, and
promtool's checks and rule tests. Without Prometheus and promtool, says in its last line what was not checked and how to
get them; if CI is set it fails instead.

With `--prometheus URL`: runs every expression of every panel, variable, annotation and rule against that Prometheus
over the last `--window` seconds, and fails for each that returns nothing. Do this during a run, because there is no
data between runs.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
from pathlib import Path
from typing import Any

import generate
import live
import structure
import yaml
from structure import Expression

ROOM = Path(__file__).resolve().parent
PROMETHEUS = ROOM / "prometheus"
NO_PROMTOOL = (
    "promtool is missing (Debian: apt install prometheus), so the rules and the comparison of two runs are not tested"
)


def load_dashboards() -> dict[str, dict[str, Any]]:
    """Every committed dashboard by its path."""
    paths = sorted(generate.DASHBOARDS.rglob("*.json"))
    return {str(path.relative_to(ROOM)): json.loads(path.read_text(encoding="utf-8")) for path in paths}


def load_rules() -> dict[str, dict[str, Any]]:
    """Every rule file by its path."""
    paths = sorted((PROMETHEUS / "rules").glob("*.yml"))
    return {str(path.relative_to(ROOM)): yaml.safe_load(path.read_text(encoding="utf-8")) for path in paths}


def expressions() -> list[Expression]:
    """Every expression of the room."""
    found: list[Expression] = []
    for name, dashboard in load_dashboards().items():
        found += structure.dashboard_expressions(name, dashboard)
    for name, rules in load_rules().items():
        found += structure.rule_expressions(name, rules)
    return found


def static_findings() -> list[str]:
    """Return the errors that the files show by themselves, without promtool or Prometheus."""
    findings = [
        f"{path.relative_to(ROOM)} is not what generate.py writes: run `python dashboards/generate.py`"
        for path, text in generate.files().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    dashboards = load_dashboards()
    uids = [dashboard.get("uid") for dashboard in dashboards.values()]
    findings += [f"the uid {uid!r} is there twice" for uid in {uid for uid in uids if uids.count(uid) > 1}]
    for name, dashboard in dashboards.items():
        findings += structure.dashboard_findings(name, dashboard)
    known = structure.metrics_of_contract((ROOM.parent / "docs" / "contracts.md").read_text(encoding="utf-8"))
    findings += structure.unknown_metrics(expressions(), known)
    tests = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted((PROMETHEUS / "tests").glob("*.yml"))]
    findings += structure.untested_alerts(load_rules().values(), tests)
    return findings + structure.provisioning_findings(ROOM / "grafana" / "provisioning", dashboards.values())


def promtool_findings() -> list[str]:
    """Return the errors that promtool finds in the configuration, the rules and the panels' expressions."""
    promtool = shutil.which("promtool")
    if promtool is None:
        return [NO_PROMTOOL] if os.environ.get("CI") else []
    with tempfile.TemporaryDirectory() as scratch:
        panels = Path(scratch) / "panels.yml"
        rules = [
            {"record": f"lsmlab:panel{number}", "expr": structure.concrete(expression.text)}
            for number, expression in enumerate(expressions())
        ]
        panels.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}), encoding="utf-8")
        commands = [
            ["check", "config", str(PROMETHEUS / "prometheus.yml")],
            ["check", "rules", str(panels)],
            ["test", "rules", *(str(path) for path in sorted((PROMETHEUS / "tests").glob("*.yml")))],
        ]
        findings = []
        for command in commands:
            done = subprocess.run([promtool, *command], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                findings.append(f"promtool {' '.join(command[:2])}: {(done.stdout + done.stderr).strip()}")
        return findings


def live_findings(url: str, window_s: float, end: float) -> list[str]:
    """Each expression that returns nothing from a live Prometheus."""
    prometheus = live.Prometheus(url, window_s, end)
    values = {name: prometheus.variables(dashboard) for name, dashboard in load_dashboards().items()}
    findings = []
    for expression in expressions():
        for query in structure.live_queries(expression, values.get(expression.dashboard, structure.ANY_VALUES)):
            try:
                if not prometheus.has_data(query):
                    findings.append(f"{expression.place}: no data for {query}")
            except ValueError as error:
                findings.append(f"{expression.place}: {query}: {error}")
    return findings


def own_tests() -> list[str]:
    """Run the tests of this room, and return a finding for each that fails."""
    suite = unittest.defaultTestLoader.discover(str(ROOM), pattern="test_*.py")
    result = unittest.TextTestRunner(stream=sys.stderr, verbosity=0).run(suite)
    return [f"{test}: {trace}" for test, trace in result.failures + result.errors]


def tell_left_out() -> None:
    """Print what is not tested, and tell `make test`, which repeats it at its end."""
    print(NO_PROMTOOL)
    if told := os.environ.get("TESTS_LEFT_OUT"):
        with Path(told).open("a", encoding="utf-8") as file:
            file.write(f"not run: a part of test-dashboards: {NO_PROMTOOL}\n")


def main(arguments: list[str] | None = None) -> int:
    """Print the findings, one a line, and return the exit code: 0 if there are none."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--prometheus", metavar="URL", help="require data from a live Prometheus, such as http://127.0.0.1:9090"
    )
    parser.add_argument("--window", type=float, default=20, metavar="S", help="seconds to look back (default: 20)")
    parser.add_argument("--end", type=float, metavar="TIME", help="end of the window, Unix time (default: now)")
    options = parser.parse_args(arguments)
    if options.prometheus:
        end = options.end if options.end is not None else time.time()
        try:
            findings = live_findings(options.prometheus, options.window, end)
        except (urllib.error.URLError, TimeoutError) as error:
            print(f"no Prometheus answers at {options.prometheus}: {error}", file=sys.stderr)
            return 1
        done = f"{len(expressions())} expressions returned data"
    else:
        findings = own_tests() + static_findings() + promtool_findings()
        done = f"{len(load_dashboards())} dashboards, {len(expressions())} expressions: no findings"
    for finding in findings:
        print(finding, file=sys.stderr)
    if not findings:
        print(done)
    if not options.prometheus and shutil.which("promtool") is None:
        tell_left_out()
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
