"""The CPU flame graphs of a suite's page: one of each experiment, of a sweep at its highest rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.report.pictures import Picture, embed
from lab.report.tables import EVENT_NAMES
from lab.suite.figures import CaseFigures, Profile

EVENTS = ("cpu", "alloc", "lock")
FLAMES_MAX = 12
"""Pictures on a page. The interactive graphs of the others are in their runs."""


@dataclass(frozen=True)
class Flame:
    """The CPU flame graph of a case, small enough for the page, and links to the interactive ones of its run."""

    name: str
    run: str
    picture: Picture | None
    source: Path
    links: list[tuple[str, str]]


@dataclass(frozen=True)
class Flames:
    """The shown flame graphs; `profiled` is the number of experiments that have one."""

    shown: list[Flame]
    profiled: int

    @property
    def left_out(self) -> str:
        """Return a sentence about the flame graphs that are not shown, or an empty string if all are."""
        if len(self.shown) == self.profiled:
            return ""
        return f"The first {len(self.shown)} of {self.profiled} are shown here; the reports of the runs have all."


def flames_of(cases: Sequence[CaseFigures], link: str) -> Flames:
    """Return the flame graphs of the first experiments; `link` is the path to results/, empty for no links."""
    highest = {case.case.experiment: (case, profile) for case in cases if (profile := case.profile) is not None}
    shown = [_flame(case, profile, link) for case, profile in list(highest.values())[:FLAMES_MAX]]
    return Flames(shown, len(highest))


def _flame(case: CaseFigures, profile: Profile, link: str) -> Flame:
    picture = profile.directory / "cpu.png"
    links = [
        (f"{EVENT_NAMES[event]}{form_name}", f"{link}{profile.run}/profile/{event}{form}.html")
        for event in EVENTS
        for form_name, form in (("", ""), (" by thread", "-threads"))
        if (profile.directory / f"{event}{form}.html").is_file()
    ]
    links.append(("report", f"{link}{profile.run}/report.html"))
    shown = embed(picture) if picture.is_file() else None
    return Flame(str(case.case), profile.run, shown, picture, links if link else [])
