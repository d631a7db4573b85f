"""The table of what monitoring costs: its figures, and its place in the page."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import cost
from cost import BEGIN, END, Block, Window

from lab.paths import find_checkout


def blocks(throughput: float, noise: float) -> list[Block]:
    """Three blocks in which monitoring multiplies the throughput; windows without it differ by up to `noise`."""

    def window(factor: float, scrapes: float) -> Window:
        return {
            "throughput_per_s": 1e5 * factor,
            "p99_us": 250,
            "net_p99_us": 200,
            "cpu_us": 8,
            "scrapes_per_s": scrapes,
        }

    watched = window(throughput, 0.98)
    return [[window(1, 0), watched, watched, window(1 + extra, 0)] for extra in (-noise, 0, noise)]


class Table(unittest.TestCase):
    """From windows to the page."""

    def test_a_row_has_both_medians_the_change_with_its_interval_and_the_noise(self) -> None:
        text = cost.table(blocks(throughput=0.5, noise=0.1), 1.234)
        row = next(line for line in text.splitlines() if line.startswith("| saturated"))
        cells = [cell.strip() for cell in row.strip("|").split("|")][1:]
        self.assertEqual(cells[:3], ["1/s", "100,000", "50,000"])
        self.assertRegex(cells[3], r"^−49\.\d\d% \(−5\d\.\d\d% … −4\d\.\d\d%\)$")
        self.assertEqual(cells[4], "8.55%")  # root mean square of the logarithms of 0.9, 1 and 1.1
        self.assertIn("scraped the service 0.98 times a second", text)
        self.assertIn("takes 1.23 ms of the service's CPU time", text)

    def test_machine_and_commit_are_named(self) -> None:
        self.assertRegex(cost.environment(find_checkout()), r"^cpus \d+ × .+; kernel .+; commit [0-9a-f]{12}")

    def test_a_page_without_the_markers_is_refused_before_anything_is_measured(self) -> None:
        page = Path(self.enterContext(tempfile.TemporaryDirectory())) / "page.md"
        for text in ("", BEGIN, f"{END}\n{BEGIN}\n"):
            page.write_text(text)
            words = [sys.executable, cost.__file__, "--update-docs", str(page)]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"{page} needs the lines {BEGIN} and {END}, in this order", done.stderr)
            self.assertEqual(page.read_text(), text)

    def test_the_benchmarks_page_has_the_markers(self) -> None:
        before, after = cost.around_table(find_checkout().root / "docs" / "benchmarks.md")
        self.assertTrue(before.endswith(BEGIN))
        self.assertTrue(after.startswith(END))


if __name__ == "__main__":
    unittest.main()
