"""Human units to numbers and back: counts (`70k`), durations (`500us`, `1m`), sizes (`64MiB`).

Each parser raises ValueError with a sentence that names the given text and what is allowed. A negative number is
accepted: the caller checks the range.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal

_COUNT_FACTORS = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6}
_SECONDS = {"us": Decimal("0.000001"), "µs": Decimal("0.000001"), "ms": Decimal("0.001"), "s": Decimal(1),
            "m": Decimal(60), "h": Decimal(3600)}  # fmt: skip
_BYTES = {"": 1, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "kB": 10**3, "MB": 10**6, "GB": 10**9}

COUNT_FORM = "a whole number, which may end in k or M: 70000, 70k"
DURATION_FORM = "a number with a unit of us, ms, s, m or h: 500us, 10s, 1m"
SIZE_FORM = "a whole number of bytes, or a number with kB, MB, GB, KiB, MiB or GiB: 64MiB"

_NUMBER_AND_UNIT = re.compile(r"\s*([-+]?[0-9]+(?:\.[0-9]+)?)\s*([A-Za-zµ]*)\s*")
LENGTH_MAX = 40
"""Characters of the longest number that is read."""


def _split(value: object, form: str) -> tuple[Decimal, str]:
    text = _text(value)
    match = _NUMBER_AND_UNIT.fullmatch(text) if not isinstance(value, bool) else None
    if match is None:
        raise ValueError(f"{text!r} is not {form}")
    return Decimal(match[1]), match[2]


def _text(value: object) -> str:
    """Return a number from text. ValueError for one that is too long."""
    try:
        text = str(value)
    except ValueError:  # Python's own limit for the digits of an int
        raise ValueError(f"a number of more than {LENGTH_MAX} digits is too long") from None
    if len(text) > LENGTH_MAX:
        raise ValueError(f"{text[:LENGTH_MAX]!r}… is too long for a number: {len(text):,} characters")
    return text


def parse_count(value: object) -> int:
    """Parse a count: `70000`, `70k`, `1.5M`."""
    number, unit = _split(value, COUNT_FORM)
    if unit not in _COUNT_FACTORS:
        raise ValueError(f"{str(value)!r} is not {COUNT_FORM}")
    result = number * _COUNT_FACTORS[unit]
    if result != result.to_integral_value():
        raise ValueError(f"{str(value)!r} is not {COUNT_FORM}")
    return int(result)


def parse_duration_s(value: object) -> float:
    """Parse a duration into seconds.

    A bare number is refused, because its unit could only be guessed; zero and negative numbers need none.
    """
    number, unit = _split(value, DURATION_FORM)
    if not unit and number <= 0:
        return float(number)
    if unit not in _SECONDS:
        raise ValueError(f"{str(value)!r} is not {DURATION_FORM}")
    return float(number * _SECONDS[unit])


def parse_milliseconds(value: object) -> int:
    """Parse a duration into whole milliseconds."""
    milliseconds = parse_duration_s(value) * 1000
    if abs(milliseconds - round(milliseconds)) > 1e-6:
        raise ValueError(f"{str(value)!r} is not a whole number of milliseconds, such as 500ms or 1s")
    return round(milliseconds)


def parse_bytes(value: object) -> int:
    """Parse a size: `1048576`, `64MiB`, `1.5GB`."""
    number, unit = _split(value, SIZE_FORM)
    if unit not in _BYTES:
        raise ValueError(f"{str(value)!r} is not {SIZE_FORM}")
    result = number * _BYTES[unit]
    if result != result.to_integral_value():
        raise ValueError(f"{str(value)!r} is not {SIZE_FORM}")
    return int(result)


def format_duration(seconds: float) -> str:
    """Return a duration for people: `350 µs`, `3.5 ms`, `12.3 s`, `2 min 05 s`."""
    if 0 < seconds < 0.001:
        return f"{seconds * 1e6:.0f} µs"
    if 0 < seconds < 0.01:
        return f"{seconds * 1e3:.1f} ms"
    if seconds < 1:
        return f"{seconds * 1e3:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"


def duration_word(seconds: float) -> str:
    """Return a duration for command lines, in the largest unit that keeps it whole: `1m`, `500us`."""
    if seconds == 0:
        return "0s"
    for unit in ("h", "m", "s", "ms", "us"):
        amount = Decimal(str(seconds)) / _SECONDS[unit]
        if amount >= 1 and amount == amount.to_integral_value():
            return f"{int(amount)}{unit}"
    return f"{max(1, round(seconds * 1e6))}us"


def significant(value: float, digits: int = 3) -> str:
    """Return at least `digits` significant digits, never an exponent: `0.0123`, `1.23`, `1,234`; `–` for no number."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "–"
    magnitude = math.floor(math.log10(abs(float(f"{value:.{digits - 1}e}"))))
    return f"{value:,.{max(0, digits - 1 - magnitude)}f}"


def format_bytes(size: float) -> str:
    """Return a size with a binary unit: `12 B`, `1.21 MiB`, `4,657 GiB`."""
    amount, unit = float(size), "B"
    for larger in ("KiB", "MiB", "GiB"):
        if abs(amount) >= 1024:
            amount, unit = amount / 1024, larger
    return f"{amount:.0f} B" if unit == "B" else f"{significant(amount)} {unit}"
