"""Pictures of flame graphs, small enough to be embedded in the page.

The page must be readable alone, so it contains the pictures. It must stay light, so each is encoded again as lossless
WebP, a third of the size of its PNG. Every colour stays as it was, because colours have a meaning. A picture that is
over its budget even so is made smaller; one that cannot be decoded is left to the link beside it.
"""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

BYTES_MAX = 500_000
_WIDTHS = (1920, 1400, 1000)
_PIXELS_MAX = 60_000_000
_SIDE_MAX = 16_383


@dataclass(frozen=True)
class Picture:
    """An embedded picture: a data URI and its size in pixels; or, with an empty ``uri``, why it is not embedded."""

    uri: str
    width: int = 0
    height: int = 0
    problem: str = ""


def embed(path: Path) -> Picture:
    """Return the picture at ``path`` as a data URI of at most ``BYTES_MAX`` bytes before its encoding."""
    try:
        with Image.open(path) as original:
            if original.width * original.height > _PIXELS_MAX or original.height > _SIDE_MAX:
                return Picture("", problem=f"{path.name} is too large to be shown here")
            whole = original.convert("RGBA")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        return Picture("", problem=f"{path.name} cannot be decoded: {error}")
    for width in _WIDTHS:
        scaled = whole
        if whole.width > width:
            size = (width, max(1, round(whole.height * width / whole.width)))
            scaled = whole.resize(size, Image.Resampling.LANCZOS)
        buffer = io.BytesIO()
        scaled.save(buffer, "WEBP", lossless=True, method=2)
        if buffer.tell() <= BYTES_MAX:
            encoded = base64.b64encode(buffer.getvalue()).decode("ascii")
            return Picture(f"data:image/webp;base64,{encoded}", scaled.width, scaled.height)
    return Picture("", problem=f"{path.name} is too large to be shown here")
