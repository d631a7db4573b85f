"""How long work says what is going on."""

from collections.abc import Callable

Progress = Callable[[str], None]
"""Called with one line of what is going on, to be shown to the user; may be called often and from any thread."""
