"""`lab results`: the runs there are, newest first."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lab.errors import InputError, did_you_mean
from lab.manifest import Manifest, ManifestError
from lab.paths import House
from lab.run.closing import STATE_STYLES


def print_results(console: Console, house: House, experiment: str | None) -> None:
    """Print a line a run. Raises InputError for an experiment without runs."""
    paths = sorted(house.results.glob("*/*/run.json"), key=lambda path: path.parent.name, reverse=True)
    if experiment is not None:
        known = {path.parent.parent.name for path in paths}
        paths = [path for path in paths if path.parent.parent.name == experiment]
        if not paths:
            raise InputError(f"no run of an experiment {experiment!r}{did_you_mean(experiment, known)}")
    if not paths:
        console.print("No runs yet. Make one: make experiment NAME=stack-get", highlight=False)
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("run", "verdict", "runtime", "offered/s", "achieved/s", "p50 ms", "p99 ms", "max ms", "overrides"):
        table.add_column(column, justify="right" if column.endswith(("/s", "ms")) else "left", no_wrap=column == "run")
    for path in paths:
        name = f"{path.parent.parent.name}/{path.parent.name}"
        try:
            manifest = Manifest.read(path)
        except ManifestError as error:
            table.add_row(name, Text("unreadable", style="red"), Text(str(error)))
            continue
        table.add_row(name, *_cells(manifest))
    console.print(table)


def _cells(manifest: Manifest) -> list[str | Text]:
    if not manifest.complete:
        last = manifest.phases[-1] if manifest.phases else None
        ended = f"incomplete: {last.name} {last.outcome}" if last else "incomplete"
        return [Text(ended, style="yellow"), manifest.runtime]
    state = manifest.validity.state if manifest.validity is not None else "unknown"
    cells: list[str | Text] = [Text(state, style=STATE_STYLES.get(state, "")), manifest.runtime]
    summary = manifest.summary
    if summary is not None:
        percentiles = summary.latency_ms.percentiles
        achieved = summary.rate_achieved_per_s
        cells += [f"{summary.rate_offered_per_s:,.0f}", "–" if achieved is None else f"{achieved:,.0f}"]
        cells += [f"{percentiles[p]:,.2f}" if p in percentiles else "–" for p in ("50", "99", "100")]
        cells.append(", ".join(f"{key}={value}" for key, value in manifest.experiment.overrides.items()))
    return cells
