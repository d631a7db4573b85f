"""Starts labs by forking, so that the lab's modules are imported once for many labs.

Each line on standard input asks for one lab, as JSON with `words`, `directory`, `environment`, and `output`, the file
for everything that it prints. The answer is its process id and, when it has ended, its exit code, each on a line.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from importlib import import_module
from typing import Any

import lab_unobserved

from lab.cli.app import COMMANDS

# Commands import these when they are called.
late = {f"lab.cli.{entry.module}" for entry in COMMANDS.values()}
late |= {"lab.compare.execution", "lab.history.changes", "lab.run", "lab.runtime.local.runtime", "lab.search.drive"}
late |= {"lab.suite.page", "rich.markdown"}
for module in sorted(late):
    import_module(module)
gc.freeze()  # a collection in a lab would copy every page of these modules


def become(asked: dict[str, Any]) -> None:
    """Make this process look like one that was started for the lab."""
    os.setsid()
    os.chdir(asked["directory"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    nothing = os.open(os.devnull, os.O_RDONLY)
    output = os.open(asked["output"], os.O_WRONLY | os.O_APPEND)
    for descriptor, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(descriptor, target)
    os.close(nothing)
    os.close(output)
    sys.argv = ["lab", *asked["words"]]


def serve() -> None:
    """Start a lab for each line. Returns in the lab's process only."""
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            become(json.loads(line))
            return
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
    sys.exit()


serve()
lab_unobserved.run()
