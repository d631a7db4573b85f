"""The parameters that an experiment's `service` may have are those of the built service."""

from __future__ import annotations

import json
import os
import subprocess

from lab.experiment import tenant
from lab.runtime.local.requirements import find_jdk
from lab.runtime.local.runtime import SERVICE_JAR

from .conftest import CHECKOUT

WRITE = "UPDATE_PARAMETERS"
"""With this environment variable, the test writes the file that it compares."""


def test_the_parameters_of_experiments_are_the_keys_of_the_built_service() -> None:
    java = find_jdk() / "bin/java"
    argv = [java, "-XX:TieredStopAtLevel=1", "-jar", CHECKOUT / SERVICE_JAR, "config", "--json"]
    keys = json.loads(subprocess.run(argv, stdout=subprocess.PIPE, check=True).stdout)
    for key in keys:
        if key["name"] in tenant.LISTED:
            del key["choices"]  # each run asks the built service for them
    lines = ",\n".join(json.dumps(key, ensure_ascii=False) for key in keys)
    if os.environ.get(WRITE):
        tenant.PARAMETERS.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    advice = f"{WRITE}=1 .venv/bin/pytest {__file__} writes the keys of the built service into {tenant.PARAMETERS}"
    assert json.loads(tenant.PARAMETERS.read_text(encoding="utf-8")) == keys, advice
