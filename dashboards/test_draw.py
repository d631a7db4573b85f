"""Variables get the values that Grafana gives them; a drawn panel shows its numbers, units, limits and gaps."""

import re
import unittest
from typing import Any

from boards import compare, experiment
from common import annotations, query_variable
from draw import Drawing, name_of, round_numbers, unit_text
from live import Prometheus
from panels import Panel, Query, Row, dashboard, series, stat, table


class StandIn(Prometheus):
    """Returns prepared answers by query, and records the queries."""

    def __init__(self, answers: dict[str, Any]) -> None:
        super().__init__("http://nowhere", 100, 1100)
        object.__setattr__(self, "answers", answers)
        object.__setattr__(self, "asked", [])

    def _ask(self, what: str, words: dict[str, str]) -> Any:
        query = words.get("query", words.get("match[]"))
        self.asked.append((what, query))
        return self.answers.get((what, query), {"result": []} if what.startswith("query") else [])


def one_panel(panel: Panel, variables: list[Any] | None = None, marks: list[Any] | None = None) -> Any:
    """A dashboard of one panel."""
    rows, shared = [Row("r", [panel])], {"variables": variables or [], "annotations": marks or []}
    return dashboard(uid="u", title="t", description="d", tags=[], rows=rows, **shared)


def answer(*values: float, **labels: str) -> dict[str, Any]:
    """A series over the last seconds of the window."""
    return {"metric": labels, "values": [[1100 - len(values) + n, str(v)] for n, v in enumerate(values)]}


class Variables(unittest.TestCase):
    """Values of variables, in their order."""

    def test_compare_finds_two_runs_and_how_far_they_lie_apart(self) -> None:
        runs = ("label/run/values", "lsmlab:measure_start_seconds")
        start = 'min(min_over_time(lsmlab:measure_start_seconds{{run="{}"}}[60d] offset -30d))'
        shift = ("query", f"round({start.format('B')} - {start.format('A')})")
        found = {runs: ["A", "B"], shift: {"result": [{"metric": {}, "value": [1100, "-250"]}]}}
        values = StandIn(found).variables(compare.build_board(), {"run_b": "A"})
        self.assertEqual((values["run_a"], values["run_b"], values["shift"]), ("B", "A", "-250"))

    def test_all_is_a_pattern_and_a_choice_its_default(self) -> None:
        values = StandIn({}).variables(experiment.build_board())
        self.assertEqual((values["run"], values["method"], values["__range"]), (".*", ".*", "100s"))
        self.assertEqual(values["results"], "http://127.0.0.1:8000")

    def test_a_variable_without_values_is_empty(self) -> None:
        alone = query_variable("v", "V", "label_values(nothing, v)", all_values=False)
        board = one_panel(stat("s", "d", "s", Query("up")), [alone])
        self.assertEqual(StandIn({}).variables(board)["v"], "")


class Drawn(unittest.TestCase):
    """Panels on a page."""

    def draw(self, panel: Panel, result: list[Any]) -> tuple[str, list[str]]:
        found = {(what, "up"): {"result": result} for what in ("query", "query_range")}
        drawing = Drawing(one_panel(panel), StandIn(found))
        return drawing.page(), drawing.empty

    def test_lines_have_a_legend_with_last_and_largest_value_in_the_unit(self) -> None:
        panel = series("p", "d", "s", Query("up", "p{{quantile}}"), steps=[(None, "transparent"), (0.002, "red")])
        page, empty = self.draw(panel, [answer(0.001, 0.003, 0.0015, quantile="0.9")])
        self.assertEqual(empty, [])
        self.assertIn('p0.9</td><td class="n">1.5 ms</td><td class="n">3 ms</td>', page)
        self.assertIn("stroke-dasharray", page)

    def test_a_line_is_broken_where_there_is_no_number(self) -> None:
        gap = {"metric": {}, "values": [[at, "1"] for at in (1010, 1011, 1012, 1090, 1091)]}
        page, _ = self.draw(series("p", "d", "s", Query("up")), [gap])
        lines = [line.split('"')[0].split() for line in page.split('points="')[1:]]
        self.assertEqual([len(line) for line in lines], [3, 2])

    def test_a_long_legend_has_two_columns_where_there_is_room(self) -> None:
        many = [answer(1.0, reason=f"r{n}") for n in range(9)]
        for width, columns in ((8, 1), (12, 2)):
            page, _ = self.draw(series("p", "d", "short", Query("up", "{{reason}}"), width=width), many)
            self.assertEqual(page.count("<th>Name</th>"), columns)
            self.assertEqual(re.findall(r"</i>(r\d)</td>", page), [f"r{n}" for n in range(9)])

    def test_the_phases_that_began_in_the_window_are_marked_and_named(self) -> None:
        starts = [
            {"metric": {"phase": name}, "values": [[1099, str(1000 * at)], [1100, str(1000 * at)]]}
            for name, at in (("measure", 1050), ("start", 990))
        ]
        marks = annotations("")
        board = one_panel(series("p", "d", "s", Query("up")), marks=marks)
        found = {("query_range", marks[0]["expr"]): starts, ("query_range", "up"): [answer(1.0, 2.0)]}
        page = Drawing(board, StandIn({query: {"result": result} for query, result in found.items()})).page()
        self.assertIn("at the purple lines: measure 00:17:30</p>", page)
        self.assertEqual(page.count('class="phase"'), 1)

    def test_run_b_is_dashed(self) -> None:
        panel = series("p", "d", "s", Query("up", "{{run}} rate"), overrides=[compare.DASHED])
        page, _ = self.draw(panel, [answer(1.0, 2.0, run="A"), answer(2.0, 3.0, run="B")])
        dashed = ["stroke-dasharray" in line.split("/>")[0] for line in page.split('<polyline class="series"')[1:]]
        self.assertEqual(dashed, [False, True])

    def test_stacked_lines_add_up(self) -> None:
        page, _ = self.draw(series("p", "d", "short", Query("up", "{{a}}"), stacked=True),
                            [answer(10.0, a="x"), answer(30.0, a="y")])  # fmt: skip
        tops = [line.split('"')[0] for line in page.split('points="')[1:]]
        self.assertLess(float(tops[1].split(",")[1]), float(tops[0].split(",")[1]))

    def test_a_figure_has_the_colour_of_the_step_that_it_reached_and_the_text_of_its_mapping(self) -> None:
        none = [{"type": "value", "options": {"0": {"text": "none", "index": 0}}}]
        panel = stat("p", "d", "none", Query("up"), steps=[(None, "green"), (1, "red")], mappings=none)
        self.assertIn('color:#73bf69">none<', self.draw(panel, [answer(3.0, 0.0)])[0])
        self.assertIn('color:#f2495c">3<', self.draw(panel, [answer(0.0, 3.0)])[0])

    def test_a_table_has_its_columns_under_their_new_names(self) -> None:
        panel = table("p", "d", Query("up"), {"run": "Run", "Value": "Since"}, unit="dateTimeAsIso")
        page, _ = self.draw(panel, [{"metric": {"run": "<r>"}, "value": [1100, "1000000"]}])
        self.assertIn("<th>Run</th><th>Since</th>", page)
        self.assertIn("<td>&lt;r&gt;</td><td>1970-01-01 00:16:40</td>", page)

    def test_a_panel_without_a_number_says_so_and_is_named(self) -> None:
        page, empty = self.draw(series("p", "d", "s", Query("up")), [answer(float("nan"))])
        self.assertEqual(empty, ["p"])
        self.assertIn("No data", page)

    def test_an_axis_has_round_numbers(self) -> None:
        self.assertEqual(round_numbers(0, 10500, "reqps"), [0, 5000, 10000])
        self.assertEqual(round_numbers(0, 2.2 * 2**30, "bytes"), [0, 2**30, 2 * 2**30])
        self.assertEqual(round_numbers(0, 1.05, "short"), [0, 0.5, 1])

    def test_numbers_are_abbreviated_by_their_unit(self) -> None:
        for value, unit, text in (
            (0.0000125, "s", "12.5 µs"),
            (90.0, "s", "1.5 min"),
            (70000.0, "reqps", "70K req/s"),
            (3.5 * 2**20, "bytes", "3.5 MiB"),
            (0.0, "Bps", "0 B/s"),
            (0.025, "percentunit", "2.5%"),
            (1500.0, "short", "1.5K"),
        ):
            self.assertEqual(unit_text(value, unit), text)
        self.assertEqual(name_of("{{method}} {{status}}", {"method": "get", "status": "200"}), "get 200")
        self.assertEqual(name_of("__auto", {}), "value")


if __name__ == "__main__":
    unittest.main()
