"""Makes the files that the profiler leaves in a run directory: small ones, but of their true formats."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw


def make_profile(directory: Path) -> None:
    """Write the pages, pictures and tables of all three events."""
    events = {"cpu": 12874, "alloc": 4211, "lock": 310}
    for event in events:
        for form in (".html", "-threads.html", "-heatmap.html"):
            page = f"<!doctype html><html lang=en><title>{event}{form}</title><body>{event}</body></html>"
            (directory / f"{event}{form}").write_text(page)
        (directory / f"{event}.collapsed").write_text("one/nio/net/Selector.select;lsmlab/storage/Engine.get 42\n")
        (directory / f"{event}.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"/>')
        _flame_picture(event).save(directory / f"{event}.png")
    (directory / "profile.jfr").write_bytes(b"FLR\0" + bytes(4096))
    shares = {
        "cpu": [("select", 0.21), ("socket read", 0.17), ("socket write", 0.15), ("parse", 0.11), ("dao get", 0.19),
                ("queue", 0.06), ("gc", 0.03), ("jit", 0.05), ("other", 0.03)],
        "alloc": [("parse", 0.44), ("dao get", 0.31), ("reply", 0.18), ("other", 0.07)],
        "lock": [("queue", 0.87), ("dao get", 0.13)],
    }  # fmt: skip
    categories = {
        event: [{"category": c, "samples": round(events[event] * s), "share": s} for c, s in rows]
        for event, rows in shares.items()
    }
    for rows in categories.values():
        for row in rows:
            row |= {"share_low": row["share"] * 0.95, "share_high": row["share"] * 1.05}
    groups = {"cpu": [{"group": "workers", "threads": 8, "samples": 9000, "share": 0.7, "share_low": None}]}
    (directory / "categories.json").write_text(json.dumps({"events": categories, "groups": groups}))
    profile = {
        "format": "lsmlab-profile", "version": 2, "engine": "perf_events", "interval_us": 500,
        "interval_had_us": 500, "cpu_s": 6.6, "cpu_sampled_s": 6.4, "samples_lost": 12,
        "warnings": ["a reason to doubt"],
        "events": {name: {"samples": n, "empty": False} for name, n in events.items()}, "async_profiler": "4.6",
    }  # fmt: skip
    (directory / "profile.json").write_text(json.dumps(profile))


def make_tail(path: Path, began: datetime) -> None:
    """Write tail.json: in three slow seconds there was more flushing; locks show nothing."""
    flush = {"name": "flush", "worst_per_s": 131.0, "rest_per_s": 100.0, "share_change": 0.02, "p_value": 0.001,
             "significant": True}  # fmt: skip
    select = {"name": "select", "worst_per_s": 80.0, "rest_per_s": 90.0, "share_change": -0.01, "p_value": 0.4,
              "significant": False}  # fmt: skip
    method = {"name": "lsmlab/storage/lsm/Flusher.add", "worst_per_s": 60.0, "rest_per_s": 0.0, "share_change": 0.04,
              "p_value": 0.002, "significant": True}  # fmt: skip
    seconds = [
        {"start_ms": round((began.timestamp() + at) * 1e3), "latency_ms": latency}
        for at, latency in ((2, 38.0), (3, 21.5), (4, 12.2))
    ]
    events = {
        "cpu": {"categories": [flush, select], "methods": [method], "files": ["cpu-tail.svg", "cpu-tail-reverse.svg"]},
        "lock": {"categories": [select], "methods": [], "files": ["lock-tail.svg"]},
    }
    for event in events.values():
        for file in event["files"]:
            (path.parent / str(file)).write_text('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')
    tail = {"format": "lsmlab-profile-tail", "version": 1, "percentile": 99.0, "seconds_compared": 59,
            "seconds": seconds, "events": events}  # fmt: skip
    path.write_text(json.dumps(tail))


def _flame_picture(event: str) -> Image.Image:
    rng = np.random.default_rng(len(event))
    picture = Image.new("RGB", (1200, 420), "#ffffff")
    draw = ImageDraw.Draw(picture)

    def grow(left: float, right: float, level: int) -> None:
        if right - left < 4 or level > 19:
            return
        shade = (int(230 + 20 * rng.random()), int(90 + 130 * rng.random()), int(50 + 40 * rng.random()))
        draw.rectangle((left, 400 - level * 20, right - 1, 418 - level * 20), fill=shade)
        at = left
        while at < right - 4 and rng.random() < 0.93:
            width = (right - at) * rng.uniform(0.3, 0.98)
            grow(at, at + width, level + 1)
            at += width

    grow(0, 1200, 0)
    return picture
