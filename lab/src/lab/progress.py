"""The function that long work calls to report its progress."""

from collections.abc import Callable

Progress = Callable[[str], None]
"""Called with one line about the current work, to be shown to the user; may be called often and from any thread."""
