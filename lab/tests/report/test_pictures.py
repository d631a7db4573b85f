"""Pictures in a report: their size, and their colours."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import pytest
from PIL import Image

from lab.pages.pictures import BYTES_MAX, embed


def test_a_picture_is_redrawn_within_its_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    budget = BYTES_MAX // 8
    monkeypatch.setattr("lab.pages.pictures.BYTES_MAX", budget)
    path = tmp_path / "cpu.png"
    Image.effect_noise((1900, 150), 90).convert("RGB").save(path)
    assert path.stat().st_size > 3 * budget
    picture = embed(path)
    assert not picture.uri or len(picture.uri) < budget * 1.4
    assert picture.uri or picture.problem == "cpu.png is too large to be shown here"


def test_a_small_picture_keeps_its_size(tmp_path: Path) -> None:
    Image.new("RGB", (800, 300), "orange").save(tmp_path / "cpu.png")
    picture = embed(tmp_path / "cpu.png")
    assert picture.uri.startswith("data:image/webp;base64,")
    assert (picture.width, picture.height) == (800, 300)


def test_rare_colours_are_kept_because_they_have_a_meaning(tmp_path: Path) -> None:
    original = Image.effect_noise((1600, 200), 40).convert("RGB")
    colours = ((0xF4, 0xA3, 0xA0), (0x94, 0xD2, 0xCD), (0xF9, 0xD5, 0x7E))
    for i, colour in enumerate(colours):
        original.paste(colour, (10 + 20 * i, 180, 22 + 20 * i, 192))
    original.save(tmp_path / "cpu.png")
    uri = embed(tmp_path / "cpu.png").uri
    with Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2]))) as shown:
        assert [shown.convert("RGB").getpixel((16 + 20 * i, 186)) for i in range(3)] == list(colours)
