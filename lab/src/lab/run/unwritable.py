"""Explains an error about a file that could not be written, such as that of a full disk."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

from lab.errors import RunError
from lab.paths import Checkout
from lab.units import format_bytes

NOT_WRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
"""Errors of a full disk, or of one that cannot be written for another reason outside the lab."""


def explained(error: BaseException, checkout: Checkout) -> BaseException:
    """Explain to the user an error about a file that could not be written; return any other error unchanged."""
    if not isinstance(error, OSError) or error.errno not in NOT_WRITABLE:
        return error
    places = {"LAB_RESULTS": checkout.results, "LAB_CACHE": checkout.cache}
    free = ", ".join(f"{place} has {_free(place)} free ({setting})" for setting, place in places.items())
    name = f": {error.filename}" if error.filename else ""
    return RunError(
        f"a file of this run could not be written: {error.strerror}{name}",
        f"{free}. Free some, or name another place by the setting in brackets",
    )


def _free(place: Path) -> str:
    while not place.exists():
        place = place.parent
    return format_bytes(shutil.disk_usage(place).free)
