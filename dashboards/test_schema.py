"""The dashboards are valid under Grafana 12's published schema, which its Foundation SDK has as types.

A dashboard is read into those types and written again. The types keep only what the schema knows, so anything that is
gone or changed afterwards is not what Grafana expects.
"""

import json
import unittest
from collections.abc import Iterator
from typing import Any

import generate
from boards import compare
from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

OF_PROMETHEUS = {"step", "titleFormat", "textFormat", "tagKeys", "useValueForTime"}
"""Keys of an annotation that belong to the data source's plugin: the schema of dashboards does not have them."""


def findings(dashboard: dict[str, Any]) -> list[str]:
    """Each place at which a dashboard deviates from the schema."""
    plugins.register_default_plugins()
    try:
        known = json.loads(json.dumps(Dashboard.from_json(dashboard), cls=JSONEncoder))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        return [f"the dashboard cannot be read: {error!r}"]
    return list(_changes(dashboard, known, ""))


def _changes(written: Any, known: Any, place: str) -> Iterator[str]:
    if isinstance(written, dict) and isinstance(known, dict):
        for key, value in written.items():
            if key in known:
                yield from _changes(value, known[key], f"{place}.{key}")
            elif not (key in OF_PROMETHEUS and place.startswith(".annotations.list[")):
                yield f"{place}.{key} is not in the schema"
    elif isinstance(written, list) and isinstance(known, list) and len(written) == len(known):
        for number, (one, other) in enumerate(zip(written, known, strict=True)):
            yield from _changes(one, other, f"{place}[{number}]")
    elif written != known:
        yield f"{place} is {written!r}, the schema makes it {known!r}"


class Schema(unittest.TestCase):
    """Every committed dashboard is valid, and planted faults are found."""

    def test_every_dashboard_keeps_all_that_it_has(self) -> None:
        paths = sorted(generate.DASHBOARDS.rglob("*.json"))
        self.assertEqual(len(paths), 6)
        for path in paths:
            with self.subTest(path.name):
                self.assertEqual(findings(json.loads(path.read_text(encoding="utf-8"))), [])

    def test_a_key_that_grafana_does_not_know_is_named_with_its_place(self) -> None:
        for place, change in {
            ".titel": lambda built: built.update(titel="x"),
            ".panels[1].gridPos.width": lambda built: built["panels"][1]["gridPos"].update(width=3),
            ".panels[1].fieldConfig.defaults.units": lambda built: built["panels"][1]["fieldConfig"]["defaults"].update(
                units="s"
            ),
            ".panels[1].options.legends": lambda built: built["panels"][1]["options"].update(legends={}),
            ".panels[1].targets[0].exp": lambda built: built["panels"][1]["targets"][0].update(exp="up"),
            ".templating.list[0].names": lambda built: built["templating"]["list"][0].update(names="x"),
        }.items():
            with self.subTest(place):
                built = compare.build_board()
                change(built)
                self.assertEqual(findings(built), [f"{place} is not in the schema"])

    def test_a_value_of_another_kind_is_found(self) -> None:
        built = compare.build_board()
        built["templating"] = []
        self.assertEqual(findings(built), [".templating is [], the schema makes it {}"])
        built["templating"] = {"list": [1]}
        self.assertIn("cannot be read", findings(built)[0])


if __name__ == "__main__":
    unittest.main()
