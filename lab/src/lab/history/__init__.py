"""All runs: indexed, listed, browsed, exported, pruned.

The run directories are the truth. `.cache/history.json` is made from them, and can be removed at any time.
"""

from lab.history.index import Filter, History, RunRow
from lab.history.keeping import export, prune, tag

__all__ = ["Filter", "History", "RunRow", "export", "prune", "tag"]
