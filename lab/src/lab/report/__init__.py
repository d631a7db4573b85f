"""The report of a run: ``report.html``, one self-contained page, and ``report.md`` with the same tables.

``write(run_dir)`` makes both from the run directory alone. The report names everything that is missing, because the run
was interrupted or because a tool lacks an output. Only a ``run.json`` that cannot be read is an error.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.analysis import RunFiles

__all__ = ["write"]


def write(run_dir: Path, files: RunFiles | None = None) -> None:
    """Write ``report.html`` and ``report.md`` into ``run_dir``, each replaced as a whole.

    ``files`` are the run's files, if they have been read, so that none is read twice.
    Raises ``ManifestError`` if ``run.json`` is missing or damaged, ``OSError`` if a file cannot be written.
    """
    # `lab.report.numbers` alone must load quickly: a list of runs uses it.
    from lab.pages.write import write as write_pages  # noqa: PLC0415
    from lab.report.data import collect  # noqa: PLC0415
    from lab.report.page import report_of  # noqa: PLC0415

    write_pages(run_dir, report_of(collect(run_dir, files)))
