"""The command line: thin commands over the rest, and help that teaches."""

from lab.cli.app import main

__all__ = ["main"]
