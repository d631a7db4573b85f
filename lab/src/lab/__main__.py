"""`python -m lab`, and what bin/lab runs."""

from __future__ import annotations

from lab.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
