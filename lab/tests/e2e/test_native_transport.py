"""The server over one-nio's native transport, which the image has and a machine with an older glibc lacks.

The suite of raw sockets is run again inside the stage that builds the image: which of the two transports carries the
bytes decides who reads, writes, selects and closes.
"""

from __future__ import annotations

import json
import subprocess

import pytest

from .conftest import CHECKOUT, require

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1800)]

NAME = "native-transport-tests"
# Compose builds it, and not `docker build`, which needs a plug-in for BuildKit that not every engine comes with.
COMPOSE = {
    "name": "lsmlab-tests",
    "services": {NAME: {"build": {"context": ".", "dockerfile": "service/Dockerfile", "target": NAME}}},
}


def test_the_servers_tests_pass_over_the_native_transport() -> None:
    require("docker")
    done = subprocess.run(
        ["docker", "compose", "--project-directory", ".", "-f", "-", "--progress", "plain", "build"],
        cwd=CHECKOUT,
        input=json.dumps(COMPOSE),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:]
    subprocess.run(["docker", "image", "rm", "--force", f"lsmlab-tests-{NAME}"], capture_output=True, check=False)
