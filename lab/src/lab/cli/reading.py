"""Commands that only read: they write a report again, or print a load generator's text as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from lab import report
from lab.analysis import LoadError
from lab.analysis.load import TextOnly
from lab.analysis.wrk2 import REQUESTS_LINE, parse_reports
from lab.history.keeping import find_run
from lab.paths import Checkout


def report_again(checkout: Checkout, run: str) -> Path:
    """Write the report of a run again, from its directory alone; return the page's path.

    `run` names the run as `compare` takes it: a path, or NAME/RUN below results/.
    """
    directory = find_run(checkout, run) or Path(run)
    report.write(directory)
    return directory / "report.html"


def load_text_as_json(source: str) -> tuple[str, list[str]]:
    """Return the JSON of a load generator's text, and remarks: of a file, or of standard input for "-".

    Several reports are a list. Remarks say what a report lacks and what is to be doubted in it. Raises LoadError.
    """
    if source == "-":
        data, where = sys.stdin.buffer.read(), "standard input"
    else:
        try:
            data, where = Path(source).read_bytes(), source
        except OSError as error:
            raise LoadError(f"{source}: cannot be read: {error.strerror}") from error
    # By its byte order mark or its zero bytes: PowerShell redirects output as UTF-16.
    text = data.decode(json.detect_encoding(data), "replace")
    documents, remarks = [], []
    reports = parse_reports(text, where)
    for number, load in enumerate(reports, 1):
        document = load.model_dump(mode="json", exclude_none=True)
        name = where if len(reports) == 1 else f"{where}, report {number}"
        found = load.text or TextOnly()
        if found.missing:
            lines = ", ".join(f"'{line}'" for line in found.missing)
            remarks.append(f"{name}: the report is cut off: it lacks {lines}")
        if REQUESTS_LINE in found.missing:
            del document["requests"]
        remarks += [f"{name}: {doubt}" for doubt in found.doubts]
        documents.append(document)
    shown = documents[0] if len(documents) == 1 else documents
    return json.dumps(shown, indent=2, ensure_ascii=False), remarks
