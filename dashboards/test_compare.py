"""Compare shows two runs in one graph: queried from a real Prometheus that holds two synthetic runs, an hour apart."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path
from typing import ClassVar

import structure
from boards import compare
from live import Prometheus, Series

START_LIMIT_S = 60
RUN_S = 40
#: Requests a second of each run.
RATES = {"A": 1000, "B": 2500}


def samples(starts: dict[str, int]) -> str:
    """Return the series that load generator, rules and lab write during the runs, in OpenMetrics' text format."""
    families: dict[str, list[str]] = {
        "# TYPE lsmlab:run gauge": [],
        "# TYPE lsmlab:measure_start_seconds gauge": [],
        "# TYPE loadgen_requests counter": [],
    }
    run, start, requests = families.values()
    for name, begin in starts.items():
        for second in range(RUN_S):
            at = begin + second
            run.append(f'lsmlab:run{{run="{name}"}} 1 {at}')
            start.append(f'lsmlab:measure_start_seconds{{run="{name}"}} {begin} {at}')
            requests.append(f"loadgen_requests_total {RATES[name] * second} {at}")
    return "\n".join("\n".join([kind, *lines]) for kind, lines in families.items()) + "\n# EOF\n"


class TwoRuns(unittest.TestCase):
    """One Prometheus for all tests."""

    starts: ClassVar[dict[str, int]]
    url: ClassVar[str]

    @classmethod
    def setUpClass(cls) -> None:
        for program in ("prometheus", "promtool"):
            if shutil.which(program) is None:
                error = AssertionError if os.environ.get("CI") else unittest.SkipTest
                raise error(f"{program} is missing (Debian: apt install prometheus)")
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.starts = {"A": int(time.time()) - 3 * 3600, "B": int(time.time()) - 2 * 3600 + 17}
        text, data = Path(scratch.name) / "samples", Path(scratch.name) / "data"
        text.write_text(samples(cls.starts), encoding="utf-8")
        subprocess.run(
            ["promtool", "tsdb", "create-blocks-from", "openmetrics", text, data], check=True, capture_output=True
        )
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        words = ["--config.file=/dev/null", f"--storage.tsdb.path={data}", f"--web.listen-address=127.0.0.1:{port}"]
        log = cls.enterClassContext((Path(scratch.name) / "log").open("wb"))
        process = subprocess.Popen(["prometheus", *words, "--query.lookback-delta=20s"], stdout=log, stderr=log)
        cls.addClassCleanup(process.wait, 60)
        cls.addClassCleanup(process.terminate)
        cls.url = f"http://127.0.0.1:{port}"
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        deadline = time.monotonic() + START_LIMIT_S
        while True:
            try:
                with opener.open(f"{cls.url}/-/ready", timeout=2):
                    return
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def series(self, title: str, a: str, b: str) -> dict[str, Series]:
        """What the panel `title` shows over the time of run `a`, by legend."""
        board = compare.build_board()
        over_a = Prometheus(self.url, RUN_S, self.starts[a] + RUN_S)
        values = over_a.variables(board, {"run_a": a, "run_b": b})
        panel = next(panel for panel in structure.panels_of(board) if panel["title"] == title)
        queries = {query["legendFormat"]: structure.concrete(query["expr"], values) for query in panel["targets"]}
        ask = over_a.instant if panel["type"] == "table" else over_a.range
        return {legend: ask(query) for legend, query in queries.items()}

    def test_each_run_is_shown_by_its_own_figures_from_the_same_moment_on(self) -> None:
        for a, b in (("A", "B"), ("B", "A")):
            with self.subTest(f"{b} over {a}"):
                found = self.series("Achieved rate", a, b)
                self.assertEqual(list(found), ["A", "B"])
                (over_a,), (over_b,) = found.values()
                for end in (0, -1):
                    self.assertAlmostEqual(over_a["values"][end][0], over_b["values"][end][0], delta=2)
                for run, line in ((a, over_a), (b, over_b)):
                    self.assertAlmostEqual(float(line["values"][-1][1]), RATES[run], delta=1)

    def test_both_runs_are_listed_though_one_lies_outside_the_time_shown(self) -> None:
        (rows,) = self.series("The two runs", "A", "B").values()
        self.assertEqual({row["metric"]["run"] for row in rows}, set(RATES))


if __name__ == "__main__":
    unittest.main()
