"""A run that writes never changes the tables of its dataset, because later runs start on them too."""

from __future__ import annotations

import hashlib
import json
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from lab import dataset
from lab.runtime.base import DatasetSpec

from .conftest import CHECKOUT

JAR = CHECKOUT / "service/server/target/service/lsmlab-server.jar"
SPEC = DatasetSpec("small", pairs=20_000, value_bytes=500, seed=1, tables=4)
WRITES = 4_000
START_LIMIT_S = 60


def java(*words: str) -> list[str]:
    jdk = subprocess.run([CHECKOUT / "bin/find-jdk"], capture_output=True, text=True, check=True).stdout.strip()
    return [f"{jdk}/bin/java", "--enable-native-access=ALL-UNNAMED", "-jar", str(JAR), *words]


def run(*words: str) -> str:
    return subprocess.run(java(*words), capture_output=True, text=True, check=True, timeout=120).stdout


def hashes(store: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(store.iterdir())}


def request(method: str, url: str, body: bytes | None = None) -> None:
    with urllib.request.urlopen(urllib.request.Request(url, body, method=method), timeout=60) as response:
        assert response.status < 300, url


def ready(log: Path, service: subprocess.Popen[bytes]) -> tuple[str, str]:
    """Return the URLs of the data port and of the admin port, once the service accepts requests."""
    deadline = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline and service.poll() is None:
        for line in log.read_text().splitlines():
            if line.startswith("ready "):
                data, admin = (word.split("=", 1)[1] for word in line.split()[1:3])
                return f"http://{data}", f"http://{admin}"
        time.sleep(0.1)
    pytest.fail(f"the service was not ready:\n{log.read_text()}")


def test_a_run_that_writes_leaves_the_dataset_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "dataset").mkdir()
    store = tmp_path / "dataset/store"
    info = json.loads(run("load-dataset", "--dir", str(store), *SPEC.words()).splitlines()[-1])
    before = hashes(store)
    assert sum(name.endswith(".sst") for name in before) == SPEC.tables
    made = dataset.Dataset(SPEC, "hash", store, info)
    assert dataset.materialise(made, tmp_path / "data") == "linked"

    config = tmp_path / "service.yaml"
    config.write_text(f"data_dir: {tmp_path / 'data'}\ndata_port: 0\nadmin_port: 0\nflush_threshold_bytes: 1000000\n")
    log = tmp_path / "service.log"
    with log.open("w") as out:
        service = subprocess.Popen(java("serve", "--config", str(config)), stdout=out, stderr=subprocess.STDOUT)
    try:
        data, admin = ready(log, service)
        for i in range(WRITES):
            request("PUT", f"{data}/v0/entity?id=k{i * 5:09}", b"new" * 200)
        for task in ("flush", "compact"):
            request("POST", f"{admin}/{task}")
    finally:
        service.terminate()
        service.wait(60)

    assert hashes(store) == before
    assert hashes(tmp_path / "data").keys() != before.keys(), "nothing was merged"
    for directory in (store, tmp_path / "data"):
        run("verify", "--dir", str(directory))
