"""The CPU flame graphs of a suite's page: one of each experiment, of a sweep at its highest rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.pages.document import EVENT_NAMES, Block, Flame, LinkList, Paragraph, Part, present
from lab.pages.pictures import embed
from lab.suite.figures import CaseFigures, Profile

EVENTS = ("cpu", "alloc", "lock")
FLAMES_MAX = 12
"""Pictures on a page. The interactive graphs of the others are in their runs."""


@dataclass(frozen=True)
class Flames:
    """The flame graphs as blocks of a page, with links to the interactive ones, and their pictures by name."""

    blocks: list[Block]
    pictures: dict[str, Path]


def flames_of(cases: Sequence[CaseFigures], link: str) -> Flames:
    """Return the flame graphs of the first experiments; `link` is the path to results/, empty for no links."""
    highest = {case.case.experiment: (case, profile) for case in cases if (profile := case.profile) is not None}
    pictures: dict[str, Path] = {}
    parts: list[Block] = []
    for case, profile in list(highest.values())[:FLAMES_MAX]:
        name, path = str(case.case), profile.directory / "cpu.png"
        file = f"{link}{profile.run}/profile/cpu.png" if link else ""
        flame = Flame(name, f"CPU flame graph of {name}", embed(path), file) if path.is_file() else None
        parts.append(Part(name, present(flame, LinkList(_links(profile, link)) if link else None), profile.run))
        pictures |= {name: path} if flame is not None else {}
    if not parts:
        return Flames([], {})
    left_out = ""
    if len(parts) < len(highest):
        left_out = f" The first {len(parts)} of {len(highest)} are shown here; the reports of the runs have all."
    lede = "From the profiled start of each experiment, in the last round, at the same rate."
    return Flames([Paragraph(lede + left_out), *parts], pictures)


def _links(profile: Profile, link: str) -> list[tuple[str, str]]:
    links = [
        (f"{EVENT_NAMES[event]}{form_name}", f"{link}{profile.run}/profile/{event}{form}.html")
        for event in EVENTS
        for form_name, form in (("", ""), (" by thread", "-threads"))
        if (profile.directory / f"{event}{form}.html").is_file()
    ]
    return [*links, ("report", f"{link}{profile.run}/report.html")]
