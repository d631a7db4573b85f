"""Services that are not the lab's own are measured as they are; one that cannot be is refused in a sentence."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.machine.host import processes_mentioning
from lab.runtime.local.foreign import networks_problem
from lab.runtime.local.requirements import find_jdk
from support.checkout import free_port
from support.installed import leave_out

from ..conftest import CHECKOUT, RUN_LIMIT_S, outside_make

SERVER = Path(__file__).with_name("server.py")
PAGE = CHECKOUT / "docs/your-service.md"
SHOP = """
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;

public class Shop {
  public static void main(String[] arguments) throws Exception {
    HttpServer server = HttpServer.create(new InetSocketAddress(8080), 0);
    byte[] body = "hello".getBytes();
    server.createContext("/", exchange -> {
      exchange.sendResponseHeaders(200, body.length);
      exchange.getResponseBody().write(body);
      exchange.close();
    });
    server.start();
  }
}
"""


@dataclass
class Elsewhere:
    """A directory of the user's own, from which the lab is called."""

    directory: Path

    def experiment(self, behaviour: str = "", more: str = "", load: str = "") -> None:
        """Write an experiment.yaml for a server that behaves like this."""
        (self.directory / "server.py").write_bytes(SERVER.read_bytes())
        (self.directory / "experiment.yaml").write_text(
            f"service:\n  command: [{sys.executable}, {self.directory / 'server.py'}, '{behaviour}']\n{more}"
            f"load: {{get: /cart/17, rate: 50, connections: 4, duration: 2s, warmup: 1s{load}}}\n"
        )

    def lab(self, *words: str) -> tuple[int, str]:
        """Return the exit code, and what was printed as one line. Nothing of this directory may be left running."""
        settings = {"LAB_RESULTS": "results", "LAB_LOCK": "lock", "LAB_CACHE": "cache"}
        done = subprocess.run(
            [CHECKOUT / "bin/lab", *words],
            cwd=self.directory,
            env={
                **outside_make(),
                **{key: str(self.directory / name) for key, name in settings.items()},
                "LOADGEN_METRICS_PORT": str(free_port()),
                "COLUMNS": "200",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=RUN_LIMIT_S,
            check=False,
        )
        assert processes_mentioning(str(self.directory)) == []
        return done.returncode, " ".join(done.stdout.split())

    def run_json(self) -> dict[str, object]:
        """Return the run.json of the only run."""
        (path,) = (self.directory / "results").glob("*/*/run.json")
        return dict(json.loads(path.read_text()))


@pytest.fixture
def elsewhere(tmp_path: Path) -> Elsewhere:
    if why := networks_problem():
        leave_out(f"no network namespace can be made: {why}")
    return Elsewhere(tmp_path)


def test_a_server_that_takes_no_argument_is_measured_as_it_is(elsewhere: Elsewhere) -> None:
    elsewhere.experiment()
    code, output = elsewhere.lab("run", ".")
    assert code == 0, output
    assert "the service is no JVM, so there is no profile" in output
    run = elsewhere.run_json()
    assert run["complete"] is True
    assert run["summary"]["errors"]["status"] == 0  # type: ignore[index]
    lacking = [check["detail"] for check in run["validity"]["checks"] if "measured as it is" in check["detail"]]  # type: ignore[index]
    assert lacking == [
        "the service is measured as it is, without metrics of its own and a sign that it rests (quiesce)"
    ]
    assert next((elsewhere.directory / "results").glob("*/*/report.html")).is_file()


@pytest.mark.parametrize(
    ("behaviour", "more", "said"),
    [
        ("never-ready", "  start_limit: 2s\n  name: shop\n", "shop was not ready within 2 s: it opened no port"),
        ("dies", "", "the service died during"),
        (
            "another-port",
            "  name: shop\n  port: 8080\n",
            "shop does not listen on port 8080, which is declared, but on 9999",
        ),
        ("answers-500", "", "GET /cart/17 is answered 500, so there is nothing to measure"),
        (
            "",
            "  start_limit: 2s\n  ready: /health?\n  name: shop\n  port: 8080\n  workers: 8\n",
            "workers is a parameter of",
        ),
    ],
)
def test_a_service_that_cannot_be_measured_is_refused_in_a_sentence(
    elsewhere: Elsewhere, behaviour: str, more: str, said: str
) -> None:
    elsewhere.experiment(behaviour, more)
    code, output = elsewhere.lab("run", ".")
    assert code in (1, 2), output
    assert said in output


def test_a_port_that_is_not_the_usual_one_is_found(elsewhere: Elsewhere) -> None:
    elsewhere.experiment("another-port")
    code, output = elsewhere.lab("run", ".", "--duration", "1s", "--warmup", "0s")
    assert code == 0, output


def test_a_service_that_ignores_sigterm_is_killed_and_the_run_says_so(elsewhere: Elsewhere) -> None:
    elsewhere.experiment("ignores-sigterm")
    code, output = elsewhere.lab("run", ".", "--duration", "1s", "--warmup", "0s")
    assert code == 0, output
    assert "the service ignored SIGTERM, so it was killed" in output


@pytest.fixture
def jars(elsewhere: Elsewhere) -> Callable[[], Elsewhere]:
    def build() -> Elsewhere:
        (elsewhere.directory / "Shop.java").write_text(SHOP)
        programs, classes = find_jdk() / "bin", elsewhere.directory / "classes"
        subprocess.run([programs / "javac", "-d", classes, elsewhere.directory / "Shop.java"], check=True)
        for name in ("old.jar", "new.jar"):
            words = ["--create", "--file", elsewhere.directory / name, "--main-class", "Shop", "-C", classes, "."]
            subprocess.run([programs / "jar", *words], check=True)
        return elsewhere

    return build


def test_two_jars_that_insist_on_one_port_are_compared(jars: Callable[[], Elsewhere]) -> None:
    elsewhere = jars()
    trial = re.search(r"^~/lsm-lab/bin/lab (compare old\.jar .*)$", PAGE.read_text(), re.MULTILINE)
    assert trial is not None
    code, output = elsewhere.lab(*shlex.split(trial[1]), "--force")
    assert code == 0, output
    (record,) = (elsewhere.directory / "results").glob("compare/*/record.json")
    document = json.loads(record.read_text())
    assert document["state"] == "complete"
    assert any("service.jar" in line for line in document["compared"])


def test_a_jar_without_a_load_is_refused(elsewhere: Elsewhere) -> None:
    (elsewhere.directory / "a.jar").write_bytes(b"")
    code, output = elsewhere.lab("compare", "a.jar", "a.jar", "--rate", "100")
    assert (code, "a.jar: GET missing: a jar does not say how to load it" in output) == (2, True), output
    code, output = elsewhere.lab("compare", "a.jar", "no.jar", "--get", "/x", "--rate", "100")
    assert (code, "no.jar: there is no such jar" in output) == (2, True), output


def test_a_file_of_ones_own_is_checked_and_has_one_rate(elsewhere: Elsewhere) -> None:
    elsewhere.experiment()
    assert elsewhere.lab("check", ".") == (0, "1 experiment is sound")
    elsewhere.experiment(more="  categories: no.toml\n")
    code, output = elsewhere.lab("check", ".")
    assert (code, "experiment.yaml:3: service.categories: there is no file of rules" in output) == (2, True), output
    elsewhere.experiment()
    file = elsewhere.directory / "experiment.yaml"
    file.write_text(file.read_text().replace("rate: 50", "rate: [50, 100]"))
    code, output = elsewhere.lab("run", ".")
    assert (code, "50, 100 are several rates, and only one can be run here" in output) == (2, True), output
