"""Shows a run to the user: a live line for the active phase, and a line for each finished one.

Without a terminal there is no live line; each phase gets a line when it begins and one when it is over.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from lab.process.processes import yield_to_others
from lab.units import format_duration
from lab.words import as_typed

NAME_WIDTH = 17
REFRESH_HZ = 8
LOADED_REFRESH_HZ = 1
"""Under load the lab may share a CPU with the load generator, and drawing a line takes milliseconds."""
MARKS = {"ok": ("✓", "green"), "failed": ("✗", "bold red"), "interrupted": ("✗", "yellow"), "skipped": ("–", "dim")}


class Show:
    """Shows phases on a console. `note` may be called from any thread, the rest from the main thread."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.name_width = NAME_WIDTH
        self._live: Live | None = None
        self._name = ""
        self._note = ""
        self._began = time.monotonic()
        self._expected_s: float | None = None
        self._status: Callable[[], str] | None = None
        self._spinner = Spinner("dots")

    def begin(self, name: str, expected_s: float | None = None, status: Callable[[], str] | None = None) -> None:
        """Show that a phase begins: a bar if its length is known; `status` is asked for the current state."""
        self._start_clock(name)
        self._expected_s, self._status = expected_s, status
        if self.console.is_terminal:
            self._live = Live(
                console=self.console,
                get_renderable=self._render,
                refresh_per_second=LOADED_REFRESH_HZ if expected_s else REFRESH_HZ,
                transient=True,
            )
            self._live.start()
        elif expected_s is not None and expected_s >= 5:
            self.console.print(f"  {name}: {format_duration(expected_s)} …", highlight=False)

    def _start_clock(self, name: str) -> None:
        self._name, self._note, self._began = name, "", time.monotonic()

    def _stop_live(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def note(self, line: str) -> None:
        """Show a line about the phase."""
        self._note = line

    def end(self, outcome: str, detail: str = "", remarks: Sequence[str] = ()) -> None:
        """Show that the phase is over."""
        self._stop_live()
        mark, style = MARKS[outcome]
        seconds = time.monotonic() - self._began
        line = Text.assemble(
            (f"{mark} ", style), f"{self._name:<{self.name_width}}", (f"{format_duration(seconds):>9}", "dim")
        )
        if detail:
            line.append(f"  {as_typed(detail)}", style="" if outcome == "ok" else style)
        self.console.print(line, highlight=False)
        for remark in remarks:
            self.console.print(Text(f"  ! {as_typed(remark)}", style="yellow"), highlight=False)

    def _render(self) -> RenderableType:
        if threading.current_thread() is not threading.main_thread():
            yield_to_others()  # the thread that draws has the CPU of the load generator, if there are two
        elapsed = time.monotonic() - self._began
        row = Table.grid(padding=(0, 1))
        status = self._note
        if self._status is not None:
            status = self._status() or status
        cells: list[RenderableType] = [self._spinner, Text(f"{self._name:<{self.name_width - 1}}")]
        if self._expected_s:
            cells.append(ProgressBar(self._expected_s, min(elapsed, self._expected_s), width=24))
            left = max(0.0, self._expected_s - elapsed)
            cells.append(Text(f"{format_duration(left) if left >= 1 else '…'} left", style="dim"))
        else:
            cells.append(Text(f"{format_duration(elapsed):>8}" if elapsed >= 1 else "", style="dim"))
        cells.append(Text(status, style="dim", no_wrap=True, overflow="ellipsis"))
        row.add_row(*cells)
        return Group(row)
