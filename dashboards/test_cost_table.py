"""The table of what monitoring costs: its figures, its judgement, and its place in the page."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import cost_table
from cost_table import BEGIN, END, Block, Window

from lab.machine.host import CpuTimes
from lab.paths import find_checkout

ROOM = Path(__file__).resolve().parent
FACTS = {"at": "2026-01-01T00:00:00Z", "commit": "0123456789ab"}


def blocks(throughput: float = 1.0, p99: float = 1.0, noise: float = 0.001) -> list[Block]:
    """Nine blocks in which monitoring multiplies two figures; windows of one kind differ by up to `noise`."""

    def window(watched: bool, extra: float) -> Window:
        factor = (1 + extra, 1 + extra) if not watched else (throughput, p99)
        return Window(100_000 * factor[0], 250 * factor[1], 200 * factor[1], 8.0, 0.98 if watched else 0.0)

    return [
        [window(False, 0), window(True, 0), window(True, 0), window(False, extra)] for extra in 3 * (-noise, 0, noise)
    ]


def rows(text: str) -> dict[str, list[str]]:
    """The table's cells by the name of the figure."""
    lines = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")][2:]
    return {cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in lines}


class Table(unittest.TestCase):
    """From windows to cells."""

    def test_a_row_has_both_medians_the_change_with_its_interval_and_the_noise(self) -> None:
        row = rows(cost_table.table(blocks(throughput=0.5, noise=0.1), 1.0))["saturated throughput"]
        self.assertEqual(row[:3], ["1/s", "100,000", "50,000"])
        self.assertRegex(row[3], r"^−49\.92% \(−51\.\d\d% … −48\.\d\d%\)$")
        self.assertEqual(row[4], "8.55%")  # root mean square of the logarithms of 0.9, 1 and 1.1

    def test_throughput_may_fall_by_less_than_a_hundredth(self) -> None:
        for change, noise, expected in ((1, 0.001, "met"), (0.95, 0.001, "**not met**"), (1, 0.1, "cannot tell")):
            row = rows(cost_table.table(blocks(throughput=change, noise=noise), 1.0))["saturated throughput"]
            self.assertEqual(row[5:], ["≥ −1%", expected])

    def test_p99_may_rise_by_no_more_than_two_windows_without_monitoring_differ(self) -> None:
        cases = ((1.02, 0.1, "met"), (0.5, 0.001, "met"), (1.02, 0.001, "**not met**"), (1.06, 0.1, "cannot tell"))
        for change, noise, expected in cases:
            found = rows(cost_table.table(blocks(p99=change, noise=noise), 1.0))
            for name in ("p99 at half of that rate", "… net of the load generator's delays"):
                self.assertEqual(found[name][5:], ["within A/A noise", expected])

    def test_a_rise_within_the_noise_of_one_block_is_told_if_many_blocks_show_it(self) -> None:
        found = rows(cost_table.table(4 * blocks(p99=1.02, noise=0.05), 1.0))
        self.assertEqual(found["p99 at half of that rate"][5:], ["within A/A noise", "met, and a rise is shown"])

    def test_the_scrapes_are_those_of_the_windows_with_monitoring(self) -> None:
        text = cost_table.table(blocks(), 1.234)
        self.assertIn("scraped the service 0.98 times a second", text)
        self.assertIn("takes 1.23 ms of the service's CPU time", text)

    def test_numbers_have_three_digits_or_all_before_the_point(self) -> None:
        self.assertEqual([cost_table._number(value) for value in (123456.7, 99.96, 8.0, 0.0123)],
                         ["123,457", "100.0", "8.00", "0.0123"])  # fmt: skip


class Facts(unittest.TestCase):
    """The text below the table."""

    def test_machine_and_commit_are_named(self) -> None:
        facts = cost_table.environment(find_checkout())
        self.assertEqual(list(facts), ["at", "cpu", "cpus", "kernel", "commit", "load_average_at_start"])
        self.assertRegex(facts["commit"], r"^[0-9a-f]{12}( with changes)?$")

    def test_the_hosts_share_is_between_the_two_readings(self) -> None:
        before, after = CpuTimes(busy=0, steal=100, total=1000), CpuTimes(busy=0, steal=105, total=2000)
        self.assertEqual(cost_table.taken_by_host_percent(before, after), "0.5")
        self.assertEqual(cost_table.taken_by_host_percent(before, before), "0.0")


class Page(unittest.TestCase):
    """The table's place in a page."""

    def setUp(self) -> None:
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.page = self.directory / "page.md"
        self.page.write_text(f"# Title\n{BEGIN}\nold\n{END}\nafter\n")

    def test_the_table_and_its_facts_replace_what_stood_between_the_markers(self) -> None:
        for _ in range(2):
            text = cost_table.write(self.directory / "out", self.page, blocks(), 1.0, FACTS)
        self.assertEqual(self.page.read_text(), f"# Title\n{BEGIN}\n{text.strip()}\n{END}\nafter\n")
        self.assertTrue(text.endswith("\n\nat 2026-01-01T00:00:00Z; commit 0123456789ab.\n"))
        self.assertEqual((self.directory / "out" / "monitoring.md").read_text(), text)

    def test_the_results_have_every_window_and_the_facts(self) -> None:
        cost_table.write(self.directory, None, blocks(), 1.5, FACTS)
        self.assertIn("old", self.page.read_text())
        found = json.loads((self.directory / "monitoring.json").read_text())
        self.assertEqual(found["environment"], FACTS)
        self.assertEqual(found["figures"]["scrape_cpu_ms"], 1.5)
        self.assertEqual([len(block) for block in found["figures"]["blocks"]], 9 * [4])
        self.assertEqual(found["figures"]["blocks"][0][1]["scrapes_per_s"], 0.98)

    def test_a_page_without_the_markers_is_refused_before_anything_is_measured(self) -> None:
        for text in ("", BEGIN, f"{END}\n{BEGIN}\n"):
            self.page.write_text(text)
            words = [sys.executable, str(ROOM / "cost.py"), "--update-docs", str(self.page)]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"{self.page} needs the lines {BEGIN} and {END}, in this order", done.stderr)
            self.assertEqual(self.page.read_text(), text)

    def test_the_benchmarks_page_has_the_markers(self) -> None:
        self.assertTrue(cost_table.around_table(find_checkout().root / "docs" / "benchmarks.md"))


if __name__ == "__main__":
    unittest.main()
