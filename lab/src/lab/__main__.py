"""Runs the command line: `python -m lab`, or bin/lab."""

from __future__ import annotations

from lab.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
