"""Stands in for the profiler's command: start, stop and convert leave the files of docs/contracts.md."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path


def main() -> None:
    command, *rest = sys.argv[1:]
    pprof = "--pprof" in rest
    rest = [word for word in rest if word != "--pprof"]
    options = dict(zip(rest[::2], rest[1::2], strict=True))
    out = Path(options["--out"])
    if "FAKE_PROFILE_LOG" in os.environ:
        with Path(os.environ["FAKE_PROFILE_LOG"]).open("a", encoding="utf-8") as log:
            every = f" every {options['--interval']}" if options.get("--interval", "500us") != "500us" else ""
            depth = f" depth {options['--depth']}" if "--depth" in options else ""
            limit = f" within {options['--timeout']}" if "--timeout" in options else ""
            cpus = f" on {sorted(os.sched_getaffinity(0))}" if command == "convert" else ""
            log.write(f"{command} {out.parent.name} {options.get('--events', '')}{every}{depth}{limit}{cpus}\n")
    if command == "start":
        os.kill(int(options["--pid"]), 0)
        (out / "started").touch()
    elif command == "stop":
        (out / "started").unlink()
        (out / "profile.jfr").write_bytes(b"FLR\0")
        (out / "recorder.json").write_text('{"samples": 700, "lost": 3}')
    elif command == "convert":
        from PIL import Image  # takes longer than all of the other commands

        time.sleep(float(os.environ.get("FAKE_CONVERT_S", "0")))
        if "FAKE_CONVERT_FAILS" in os.environ:
            sys.exit("jfrconv: not a recording")
        events = options["--events"].split(",")
        for event in events:
            for form in ("", "-threads", "-heatmap"):
                (out / f"{event}{form}.html").write_text("<!doctype html><title>fake</title><p>fake")
            if pprof:
                (out / f"{event}.pprof").write_bytes(b"pprof")
            (out / f"{event}.collapsed").write_text("a;b;c 700\n")
            (out / f"{event}.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')
            Image.new("RGB", (9, 9)).save(out / f"{event}.png")
        (out / "categories.json").write_text(
            json.dumps({"events": {event: [{"category": "select", "samples": 700, "share": 1.0}] for event in events}})
        )
        (out / "profile.json").write_text(
            json.dumps(
                {
                    "format": "lsmlab-profile",
                    "version": 1,
                    "title": options["--title"],
                    "engine": "ctimer",
                    "interval_us": 500,
                    "kernel_frames": False,
                    "samples_lost": json.loads((out / "recorder.json").read_text())["lost"],
                    "events": {event: {"samples": 700, "empty": False} for event in events},
                    "async_profiler": "4.6",
                }
            )
        )


main()
