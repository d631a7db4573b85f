"""Pictures of flame graphs, small enough to live inside the page.

The page must be readable alone, so it carries the pictures; it must stay light, so each is redrawn with few colours
(flame graphs have few) and at most ``WIDTH_MAX`` wide. One that is still over its budget, or cannot be decoded, is left
to the link beside it.
"""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

WIDTH_MAX = 1600
BYTES_MAX = 400_000
_PIXELS_MAX = 60_000_000
_ATTEMPTS = ((WIDTH_MAX, 64), (1200, 48), (900, 32))


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
            if original.width * original.height > _PIXELS_MAX:
                return Picture("", problem=f"{path.name} is too large to be shown here")
            colours = original.convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        return Picture("", problem=f"{path.name} cannot be decoded: {error}")
    for width, palette in _ATTEMPTS:
        scaled = colours
        if colours.width > width:
            size = (width, max(1, round(colours.height * width / colours.width)))
            scaled = colours.resize(size, Image.Resampling.LANCZOS)
        buffer = io.BytesIO()
        scaled.quantize(palette, dither=Image.Dither.NONE).save(buffer, "PNG", optimize=True)
        if buffer.tell() <= BYTES_MAX:
            encoded = base64.b64encode(buffer.getvalue()).decode("ascii")
            return Picture(f"data:image/png;base64,{encoded}", scaled.width, scaled.height)
    return Picture("", problem=f"{path.name} is too large to be shown here")
