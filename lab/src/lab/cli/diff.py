"""`lab diff`: which code changed between two runs, or between the runs of two experiments."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown

from lab.diff import diff_recordings, recordings
from lab.paths import Checkout


def print_difference(console: Console, checkout: Checkout, a: str, b: str, *, force: bool) -> None:
    """Compare, write everything to results/diff/, and print the tables."""
    sides = recordings(checkout, a), recordings(checkout, b)
    out = checkout.results / "diff" / f"{_word(a)}-against-{_word(b)}"
    markdown = diff_recordings(checkout, sides, (a, b), out, force=force)
    if console.is_terminal:
        console.print(Markdown(markdown))
    else:
        console.print(markdown, markup=False, highlight=False, soft_wrap=True)
    console.print(f"\n{out}", highlight=False)


def _word(name: str) -> str:
    return "-".join(part for part in Path(name).parts[-2:] if part not in {"/", ".."})
