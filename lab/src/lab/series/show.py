"""Shows a run of a series to the user: one live line, and a line for each problem."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Console

from lab.run.show import Show


class SeriesShow(Show):
    """Shows the active phase after `run 7 of 24, about 18 min left`; phases that end well leave no line."""

    def __init__(self, console: Console, progress: str, experiment: str) -> None:
        super().__init__(console)
        self._progress = f"{progress}: {experiment}, "
        self.name_width = len(self._progress) + 17
        if not console.is_terminal:
            console.print(f"  {progress}: {experiment} …", highlight=False)

    def begin(self, name: str, expected_s: float | None = None, status: Callable[[], str] | None = None) -> None:
        """Show that a phase begins, on a terminal only."""
        if self.console.is_terminal:
            super().begin(self._progress + name, expected_s, status)
        else:
            self._start_clock(name)

    def end(self, outcome: str, detail: str = "", remarks: Sequence[str] = ()) -> None:
        """Show that the phase is over, if it did not end well."""
        if outcome in ("failed", "interrupted"):
            super().end(outcome, detail, remarks)
        else:
            self._stop_live()


def time_left(seconds: float) -> str:
    """Return an estimated time: `about 18 min`, `about 40 s`, `about 2 h 10 min`."""
    if seconds < 90:
        return f"about {max(5, round(seconds / 5) * 5)} s"
    minutes = round(seconds / 60)
    return f"about {minutes} min" if minutes < 90 else f"about {minutes // 60} h {minutes % 60:02d} min"
