#!/usr/bin/env python3
"""Writes grafana/dashboards/ from the Python that describes it: `python dashboards/generate.py`.

The JSON is committed, because Grafana reads it. `check.py` fails if it is not what this script would write.
"""

import json
import sys
from pathlib import Path

from boards import compare, experiment, host, jvm, storage, time_spent

ROOM = Path(__file__).resolve().parent
DASHBOARDS = ROOM / "grafana" / "dashboards"
BOARDS = {
    "experiment": experiment,
    "time": time_spent,
    "storage": storage,
    "jvm": jvm,
    "host": host,
    "compare": compare,
}


def files() -> dict[Path, str]:
    """Every dashboard's path and content."""
    built = {DASHBOARDS / "LSM Lab" / f"{name}.json": board.build_board() for name, board in BOARDS.items()}
    return {path: json.dumps(content, indent=2, ensure_ascii=False) + "\n" for path, content in built.items()}


def main() -> int:
    """Write them all."""
    for path, text in files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOM))
    return 0


if __name__ == "__main__":
    sys.exit(main())
