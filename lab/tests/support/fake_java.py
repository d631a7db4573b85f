"""Stands in for the JVM with the service: the commands, the ready line and both ports of docs/contracts.md.

The variant `fake-…` chooses a way to misbehave. Requests are answered with 200 and nothing is stored.
"""

from __future__ import annotations

import json
import locale
import os
import sys
import time
from pathlib import Path

VARIANTS = [
    "sync",
    "queue",
    "stack",
    "dies-at-start",
    "dies-under-load",
    "never-ready",
    "never-rests",
    "clings",
    "ends-badly",
    "slower-by-200-us",
]


def load_dataset(words: dict[str, str]) -> None:
    directory = Path(words["--dir"])
    directory.mkdir()
    pause = float(os.environ.get("FAKE_DATASET_S", "0"))
    for table in range(int(words["--tables"])):
        (directory / f"{table:06}.sst").write_bytes(b"table")
    (directory / "MANIFEST").write_text("manifest")
    print("writing tables", file=sys.stderr, flush=True)
    time.sleep(pause)
    print(json.dumps({"pairs": int(words["--pairs"]), "bytes": 5 * int(words["--tables"]), "content_hash": "c0ffee"}))


def main() -> None:
    words = sys.argv[1:]
    jar = words[words.index("-jar") + 1]
    if locale.nl_langinfo(locale.CODESET) != "UTF-8" and not jar.isascii():
        sys.exit(f"Error: Unable to access jarfile {jar!a}")
    command, *rest = words[words.index("-jar") + 2 :]
    options = dict(zip(rest[::2], rest[1::2], strict=False))
    if command == "variants":
        added = Path(words[words.index("-jar") + 1]).with_name("variants.txt")
        names = VARIANTS + (added.read_text().split() if added.exists() else [])
        print(json.dumps([{"name": name, "summary": f"the variant {name}"} for name in names]))
    elif command == "engines":
        print(json.dumps([{"name": "lsm", "summary": "the engine"}]))
    elif command == "table-format":
        said = Path(words[words.index("-jar") + 1]).with_name("table-format.txt")
        version = said.read_text() if said.exists() else "fake-1"
        if not version:
            sys.exit(2)
        print(json.dumps([{"name": version, "summary": "tables"}]))
    elif command == "load-dataset":
        load_dataset(options)
    elif command == "serve":
        from fake_service import serve

        serve(Path(options["--config"]))
    else:
        sys.exit(2)


main()
