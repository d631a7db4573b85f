"""Suites: several experiments interleaved, one page that judges what was published about them."""

from lab.suite.declaration import Case, Suite, read_suite, suite_names
from lab.suite.run import SuiteRequest, run_suite

__all__ = ["Case", "Suite", "SuiteRequest", "read_suite", "run_suite", "suite_names"]
