"""The docker command line for the docker runtime: commands, Compose, and explanations of failures.

It uses the command line and not the engine's API, because the command line knows where the engine is (contexts, Docker
Desktop, DOCKER_HOST), and Compose exists only there.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.errors import MissingToolError, RunError
from lab.machine.host import PROC, command_line
from lab.paths import Checkout
from lab.process.commands import run_text

PROJECT = "lsmlab"
BESIDE = "lsmlab-beside"
"""The project of a second service beside the first: the same file gives it containers and networks of its own."""
OWNER_LABEL = "lsmlab.owner"
OF_PROJECT = f"label=com.docker.compose.project={PROJECT}"
NO_HEALTH_CHECK = "24h"  # each check would be a process on the service's CPUs
ANSWER_TIMEOUT_S = 5.0
COMMAND_TIMEOUT_S = 60.0

INSTALL_HINT = (
    "Install Docker (https://docs.docker.com/engine/install), or: sudo docker/engine up; RUNTIME=local needs none"
)
START_HINT = "Start it: sudo systemctl start docker (Docker Desktop: start the application), or: sudo docker/engine up"
GROUP_HINT = "Allow your user: sudo usermod -aG docker $USER, then log in again"
COMPOSE_HINT = "Install the plugin docker-compose-plugin (Debian 13: apt install docker-compose), or: docker/engine up"


@dataclass(frozen=True)
class Problem:
    """Why containers cannot be run here, and the command that helps."""

    what: str
    hint: str

    def error(self) -> MissingToolError:
        """Return it as the error a run ends with."""
        return MissingToolError(self.what, self.hint)


def client_problem() -> Problem | None:
    """Return why there is no docker command, or None."""
    if shutil.which("docker") is None:
        return Problem("Docker is not installed: there is no docker command on the PATH", INSTALL_HINT)
    return None


def engine_problem() -> Problem | None:
    """Return why no engine answers, or None. Takes at most ANSWER_TIMEOUT_S."""
    try:
        done = _run(["docker", "version", "--format", "{{.Server.Version}}"], ANSWER_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return Problem(
            f"Docker is installed, but its engine has not answered within {ANSWER_TIMEOUT_S:g} s", START_HINT
        )
    if done.returncode == 0:
        return None
    output = done.stderr.strip().splitlines()[-1:] or ["docker version failed"]
    if "permission denied" in done.stderr.lower():
        return Problem(f"Docker is installed, but this user may not use it: {output[0]}", GROUP_HINT)
    return Problem(f"Docker is installed but not running: {output[0]}", START_HINT)


def compose_problem() -> Problem | None:
    """Return why `docker compose` cannot be used, or None."""
    try:
        done = _run(["docker", "compose", "version", "--short"], ANSWER_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return Problem("'docker compose' does not answer", COMPOSE_HINT)
    version = done.stdout.strip().removeprefix("v")
    if done.returncode != 0 or not version:
        return Problem("'docker compose' is missing: Docker is there without its Compose plugin", COMPOSE_HINT)
    major = re.match(r"\d+", version)  # a build from source may answer `dev`: it is no older than the plugin itself
    if major is not None and int(major[0]) < 2:
        return Problem(f"'docker compose' is version {version}; 2 or later is needed", COMPOSE_HINT)
    return None


def first_problem() -> Problem | None:
    """Return the first reason why containers cannot be run here, or None."""
    return client_problem() or engine_problem() or compose_problem()


def require_engine(checkout: Checkout) -> None:
    """Raise MissingToolError if containers cannot be run here; make the directories that containers mount."""
    problem = first_problem()
    if problem is not None:
        raise problem.error()
    # The engine would create a missing directory of a bind mount itself, as root.
    for directory in (checkout.metrics, checkout.results, checkout.work):
        directory.mkdir(parents=True, exist_ok=True)


def settings_of(checkout: Checkout) -> dict[str, str]:
    """Return the variables of docker-compose.yml that every use of the stack sets."""
    return {
        "LAB_HEALTH_INTERVAL": NO_HEALTH_CHECK,
        "LAB_METRICS": str(checkout.metrics),
        "LAB_RESULTS": str(checkout.results),
    }


def version_of(name: str) -> str:
    """Return the version of `docker`, `Docker Engine` or `docker compose`; `unknown` if it does not tell."""
    forms = {
        "docker": ["docker", "version", "--format", "{{.Client.Version}}"],
        "Docker Engine": ["docker", "version", "--format", "{{.Server.Version}}"],
        "docker compose": ["docker", "compose", "version", "--short"],
    }
    try:
        done = _run(forms[name], ANSWER_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return "unknown"
    return done.stdout.strip().splitlines()[0] if done.stdout.strip() else "unknown"


class Docker:
    """Runs docker commands for one run of the lab.

    `settings` are the environment variables that docker-compose.yml reads; they may be changed between commands.
    Thread-safe as long as they are not.
    """

    def __init__(self, root: Path, settings: Mapping[str, str], project: str = PROJECT) -> None:
        self.root = root
        self.project = project
        self.settings = dict(settings)
        self.owner = str(os.getpid())

    def environment(self, **more: str) -> dict[str, str]:
        """Return the environment of a docker command."""
        named = {
            "LAB_OWNER": self.owner,
            "LAB_ROOT": str(self.root),
            "LAB_UID": str(os.getuid()),
            "LAB_GID": str(os.getgid()),
            "BUILDKIT_PROGRESS": "plain",
            "COMPOSE_MENU": "false",
        }
        return {**os.environ, **named, **self.settings, **more}

    def compose(self, *words: str) -> list[str]:
        """Return the command line of a Compose command on this checkout's stack."""
        file = self.root / "docker-compose.yml"
        project = ("--project-name", self.project, "--project-directory", str(self.root))
        return ["docker", "compose", *project, "-f", str(file), *words]

    def ask(self, argv: Sequence[str], what: str, timeout_s: float = COMMAND_TIMEOUT_S, **more: str) -> str:
        """Run a short command and return its stdout. RunError with the end of its output if it fails."""
        try:
            done = _run(argv, timeout_s, self.environment(**more))
        except subprocess.TimeoutExpired as error:
            raise RunError(f"{what}: docker has not answered within {timeout_s:g} s", START_HINT) from error
        if done.returncode != 0:
            output = (done.stderr.strip() or done.stdout.strip()).splitlines()
            raise RunError(
                f"{what} failed: {output[-1] if output else 'docker said nothing'}", log_tail="\n".join(output[-30:])
            )
        return done.stdout

    def try_ask(self, argv: Sequence[str], timeout_s: float = COMMAND_TIMEOUT_S, *, both: bool = False) -> str | None:
        """Run a short command that may fail; return its stdout (`both`: and stderr), or None if it fails."""
        try:
            done = _run(argv, timeout_s, self.environment())
        except (subprocess.TimeoutExpired, OSError):
            return None
        if done.returncode != 0:
            return None
        return done.stdout + done.stderr if both else done.stdout

    def up(self, service: str) -> None:
        """Start a service's container, in place of an older one."""
        options = ("--detach", "--no-deps", "--no-build", "--force-recreate", "--timeout", "1")
        self.ask(self.compose("up", *options, service), f"starting the {service} container")

    def container(self, service: str) -> str:
        """Return the name of the container that Compose makes for a service."""
        return f"{self.project}-{service}-1"

    def containers(self, *filters: str) -> list[dict[str, str]]:
        """Return containers of any state that match all filters: `ID`, `Names`, `State`, `Labels` … of `docker ps`."""
        argv = ["docker", "ps", "-a", "--no-trunc", "--format", "{{json .}}"]
        for wanted in filters:
            argv += ["--filter", wanted]
        return [json.loads(line) for line in self.ask(argv, "listing containers").splitlines() if line.strip()]

    def image_id(self, image: str) -> str | None:
        """Return the digest of an image's configuration, or None if the image is not here."""
        output = self.try_ask(["docker", "image", "inspect", "--format", "{{.Id}}", image])
        return output.strip() if output else None

    def pid_of(self, container: str, mention: str) -> int | None:
        """Return the pid that a container's first process has in this process's /proc; its command line has `mention`.

        None if the engine runs on another system (Docker Desktop), whose pids mean nothing here.
        """
        output = self.try_ask(["docker", "inspect", "--format", "{{.State.Pid}}", container])
        pid = int(output) if output and output.strip().isdigit() else 0
        return pid if pid > 0 and mention in command_line(pid) else None

    def remove(self, names: Sequence[str], timeout_s: float = COMMAND_TIMEOUT_S) -> None:
        """Kill and remove containers, with the anonymous volumes that were made for them."""
        if names:
            self.ask(["docker", "rm", "--force", "--volumes", *names], "removing containers", timeout_s)


def label_of(container: Mapping[str, str], name: str) -> str:
    """Return a container's label as `docker ps` gives it; an empty word if it has none of that name."""
    for label in container.get("Labels", "").split(","):
        key, _, value = label.partition("=")
        if key == name:
            return value
    return ""


def owner_of(container: Mapping[str, str]) -> int | None:
    """Return the pid of the lab that started a container, or None if no lab did."""
    owner = label_of(container, OWNER_LABEL)
    return int(owner) if owner.isdigit() else None


def is_live_lab(pid: int) -> bool:
    """Whether that process is a lab that still runs, and not this one. Without /proc any process counts."""
    if pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    if not PROC.is_dir():
        return True
    # A killed process has an empty command line until its parent has waited for it.
    return re.search(r"\blab\b", command_line(pid)) is not None


def _run(
    argv: Sequence[str], timeout_s: float, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return run_text(argv, limit_s=timeout_s, env=env)
