"""Compare shows two runs in one graph: drawn from a real Prometheus over two synthetic runs, an hour apart."""

import re
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path
from typing import ClassVar

from boards import compare
from draw import Drawing
from live import Prometheus

START_LIMIT_S = 60
RUN_S = 40
#: Requests a second of each run.
RATES = {"A": 1000, "B": 2500}
LINE = re.compile(r'class="series"[^>]*points="(\S+)[^"]*? (\S+)"')


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
                raise AssertionError(f"{program} is not on the PATH (Debian: apt install prometheus)")
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

    def page(self, a: str, b: str) -> str:
        """The dashboard over the time of run `a`."""
        over_a = Prometheus(self.url, RUN_S, self.starts[a] + RUN_S)
        return Drawing(compare.build_board(), over_a, {"run_a": a, "run_b": b}).page()

    def lines(self, a: str, b: str) -> tuple[str, list[tuple[float, float]]]:
        """The panel "Achieved rate" over the time of run `a`, and where each of its lines begins and ends."""
        panel = self.page(a, b).split("<h2>Achieved rate</h2>")[1].split("<h2>")[0]
        ends = [(float(first.split(",")[0]), float(last.split(",")[0])) for first, last in LINE.findall(panel)]
        return panel, ends

    def test_each_run_is_drawn_by_its_own_figures_from_the_same_moment_on(self) -> None:
        for a, b in (("A", "B"), ("B", "A")):
            with self.subTest(f"{b} over {a}"):
                panel, ends = self.lines(a, b)
                self.assertEqual(len(ends), 2, panel)
                for one, other in zip(*ends, strict=True):
                    self.assertAlmostEqual(one, other, delta=15, msg=f"{ends}: a second has 8 px")
                for name, run in (("A", a), ("B", b)):
                    self.assertRegex(panel, f'</i>{name}</td><td class="n">{RATES[run] / 1000:g}K req/s<')

    def test_both_runs_are_listed_though_one_lies_outside_the_time_shown(self) -> None:
        listed = self.page("A", "B").split("<h2>The two runs</h2>")[1]
        for run in RATES:
            self.assertIn(f"<td>{run}</td>", listed)


if __name__ == "__main__":
    unittest.main()
