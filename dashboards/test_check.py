"""Each check of this room reports the fault that it exists for."""

import copy
import json
import re
import threading
import unittest
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest import mock

import check
import generate
import structure
import yaml
from boards import experiment
from panels import Panel, Query, Row, dashboard, series
from structure import Expression

LINTER_RULES = {
    "panel-datasource-rule",
    "panel-no-targets-rule",
    "panel-title-description-rule",
    "panel-units-rule",
    "target-counter-agg-rule",
    "target-instance-rule",
    "target-job-rule",
    "target-promql-rule",
    "target-rate-interval-rule",
    "template-datasource-rule",
    "template-instance-rule",
    "template-job-rule",
    "template-label-promql-rule",
    "template-on-time-change-reload-rule",
    "uneditable-dashboard-rule",
}
"""dashboard-linter's rules for dashboards over Prometheus."""
CHECKED_BY_PROMTOOL = {"target-promql-rule", "template-label-promql-rule"}


def broken(change: Any) -> list[str]:
    """The findings for the real dashboard after a change."""
    built = copy.deepcopy(experiment.build_board())
    change(built)
    return structure.dashboard_findings("it", built)


def first_panel(built: dict[str, Any]) -> dict[str, Any]:
    """The first panel that is not a row."""
    return next(structure.panels_of(built))


class Structure(unittest.TestCase):
    """Faults in a dashboard's JSON."""

    def test_the_dashboard_has_no_findings(self) -> None:
        self.assertEqual(broken(lambda _: None), [])

    def test_each_fault_is_named(self) -> None:
        faults = {
            "no description": lambda built: first_panel(built).update(description=" "),
            "no title": lambda built: first_panel(built).update(title=""),
            "its unit, None,": lambda built: first_panel(built)["fieldConfig"]["defaults"].pop("unit"),
            "[panel-units-rule]": lambda built: first_panel(built)["fieldConfig"]["defaults"].update(unit="seconds"),
            "no query": lambda built: first_panel(built).update(targets=[]),
            "data source": lambda built: first_panel(built).update(datasource={"type": "prometheus", "uid": "abc"}),
            "no uid": lambda built: built.update(uid=""),
            "editable": lambda built: built.update(editable=True),
            "schemaVersion": lambda built: built.update(schemaVersion=50),
            "no variable `datasource`": lambda built: built["templating"]["list"].pop(0),
            "[template-datasource-rule]": lambda built: built["templating"]["list"][0].update(label="Source"),
            "[template-on-time-change-reload-rule]": lambda built: built["templating"]["list"][1].update(refresh=1),
            "is no variable": lambda built: first_panel(built)["targets"][0].update(expr="up{job='$nobody'}"),
            "one id": lambda built: first_panel(built).update(id=built["panels"][-1]["id"]),
            "overlap": lambda built: first_panel(built)["gridPos"].update(w=24),
            "no link to a run's report.html": lambda built: built["panels"].pop(),
            "leaves the grid": lambda built: first_panel(built)["gridPos"].update(x=20),
        }
        for expected, change in faults.items():
            with self.subTest(expected):
                self.assertTrue(any(expected in finding for finding in broken(change)), broken(change))

    def test_each_rule_of_dashboard_linter_is_checked_or_excluded_with_a_reason(self) -> None:
        named = re.findall(r"\[([a-z-]+-rule)\]", Path(structure.__file__).read_text(encoding="utf-8"))
        (lint,) = generate.DASHBOARDS.rglob(".lint")
        self.assertEqual({path.parent for path in generate.files()}, {lint.parent}, "it is read beside each dashboard")
        excluded = yaml.safe_load(lint.read_text(encoding="utf-8"))["exclusions"]
        self.assertEqual(sorted([*set(named), *CHECKED_BY_PROMTOOL, *excluded]), sorted(LINTER_RULES))
        self.assertTrue(all(rule["reason"] for rule in excluded.values()))

    def test_a_counter_has_to_be_a_rate_over_the_derived_interval(self) -> None:
        for good in (
            "sum(rate(a_total[$__rate_interval]))",
            'rate(a_total{x="y"}[$__rate_interval])',
            "increase(a_total[1m])",
            "a_gauge",
        ):
            self.assertEqual(structure.expression_findings(good), [], good)
        self.assertIn("without rate", structure.expression_findings("sum(a_total)")[0])
        self.assertIn("without rate", structure.expression_findings("deriv(a_total[1m])")[0])
        self.assertIn("not over", structure.expression_findings("rate(a_bucket[5m])")[0])

    def test_a_metric_that_the_contract_does_not_name_is_found(self) -> None:
        known = structure.metrics_of_contract(
            "| `lsmlab_tables`, `lsmlab_request_seconds` | `loadgen_errors_total` {kind} |"
        )
        panels = [Expression("p", "rate(lsmlab_request_seconds_bucket[1m]) + lsmlab_tables + node_anything")]
        self.assertEqual(structure.unknown_metrics(panels, known), [])
        self.assertIn("lsmlab_tabels", structure.unknown_metrics([Expression("p", "lsmlab_tabels")], known)[0])

    def test_panels_are_laid_out_in_lines_of_24_columns(self) -> None:
        wide = [series(str(number), "d", "s", Query("up"), width=12) for number in range(3)]
        built = dashboard(
            uid="u",
            title="t",
            description="d",
            tags=[],
            rows=[Row("a", wide), Row("b", wide[:1], collapsed=True)],
            variables=[],
            annotations=[],
        )
        places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in built["panels"]]
        self.assertEqual(places, [(0, 0), (0, 1), (12, 1), (0, 9), (0, 17)])
        self.assertEqual(len(built["panels"][-1]["panels"]), 1)
        self.assertEqual(structure.overlaps(list(structure.panels_of(built))), [])


class Expressions(unittest.TestCase):
    """Expressions are found, and their variables replaced."""

    def test_all_kinds_of_expressions_are_found(self) -> None:
        found = structure.dashboard_expressions("it", experiment.build_board())
        places = " ".join(expression.place for expression in found)
        self.assertIn("variable 'method'", places)
        self.assertIn("annotation 'Phases of the run'", places)
        self.assertGreater(len(found), 25)
        inside = Row("r", [Panel("stat", "hidden", "d", "s", [Query("up")])], collapsed=True)
        folded = dashboard(uid="u", title="t", description="d", tags=[], rows=[inside], variables=[], annotations=[])
        self.assertEqual([expression.text for expression in structure.dashboard_expressions("it", folded)], ["up"])

    def test_variables_are_replaced(self) -> None:
        text = 'histogram_quantile($quantile, rate(x_bucket{method=~"${method}"}[$__rate_interval]))'
        self.assertEqual(structure.concrete(text), 'histogram_quantile(0.99, rate(x_bucket{method=~".*"}[5s]))')

    def test_a_query_variable_has_one_of_two_functions(self) -> None:
        def parts(query: str) -> tuple[str, str, str]:
            return structure.variable_parts({"name": "v", "query": {"query": query}})

        self.assertEqual(parts('label_values(a{b="c"}, d)'), ("label_values", 'a{b="c"}', "d"))
        self.assertEqual(parts("query_result(max(a))"), ("query_result", "max(a)", ""))
        with self.assertRaisesRegex(ValueError, "variable 'v': metrics"):
            parts("metrics(.*)")

    def test_of_an_alert_each_series_has_to_be_there(self) -> None:
        alert = Expression("a", 'rate(loadgen_requests_total[5s]) < 0.9 * up{job="service"}', alert=True)
        self.assertEqual(structure.live_queries(alert), ["loadgen_requests_total", 'up{job="service"}'])


class Rules(unittest.TestCase):
    """Faults in the rules' tests."""

    def test_each_alert_has_to_be_shown_firing_and_silent(self) -> None:
        rules = [{"groups": [{"rules": [{"alert": "A"}, {"alert": "B"}, {"record": "c"}]}]}]
        tests = [
            {"alertname": "A", "exp_alerts": [{}]},
            {"alertname": "A"},
            {"alertname": "B", "exp_alerts": []},
        ]
        found = structure.untested_alerts(rules, [{"tests": [{"alert_rule_test": tests}]}])
        self.assertEqual(found, ["B: no test in which it fires"])

    def test_promtool_may_be_missing_unless_ci_is_set(self) -> None:
        for ci, findings in (("", []), ("true", [check.NO_PROMTOOL])):
            with (
                mock.patch.object(check.shutil, "which", return_value=None),
                mock.patch.dict(check.os.environ, {"CI": ci}),
            ):
                self.assertEqual(check.promtool_findings(), findings)


class Live(unittest.TestCase):
    """Expressions are run against a stand-in for Prometheus."""

    def setUp(self) -> None:
        answers = {"full": [[1, "2.5"]], "nan": [[1, "NaN"]], "empty": []}

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                query = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)["query"][0]
                self.send_response(200 if query in answers else 400)
                self.end_headers()
                values = answers.get(query)
                result = [{"metric": {}, "values": values}] if values else []
                body = {"data": {"result": result}} if query in answers else {"error": "parse error"}
                self.wfile.write(json.dumps(body).encode())

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"

    def test_each_expression_has_to_return_a_number(self) -> None:
        found = [Expression(name, name) for name in ("full", "nan", "empty", "wrong")]
        with mock.patch.object(check, "expressions", lambda: found), mock.patch.object(check, "load_dashboards", dict):
            findings = check.live_findings(self.url, 10, 1000)
        self.assertEqual([finding.split(":")[0] for finding in findings], ["nan", "empty", "wrong"])
        self.assertIn("parse error", findings[2])

    def test_without_a_prometheus_the_url_is_named(self) -> None:
        with mock.patch("sys.stderr") as stderr:
            self.assertEqual(check.main(["--prometheus", "http://127.0.0.1:9"]), 1)
        written = "".join(str(call.args[0]) for call in stderr.write.call_args_list)
        self.assertIn("http://127.0.0.1:9", written)


if __name__ == "__main__":
    unittest.main()
