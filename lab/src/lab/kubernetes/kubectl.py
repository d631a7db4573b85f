"""kubectl, as the runtime uses it: objects, commands in pods, and files to and from them with checksums."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab.errors import MissingToolError, RunError
from lab.process.commands import run_bytes, run_text

ASK_LIMIT_S = 60.0
COPY_LIMIT_S = 600.0
INSTALL_HINT = "Install it: https://kubernetes.io/docs/tasks/tools/ (Debian 13: apt install kubernetes-client)"


class KubectlError(RunError):
    """kubectl ended with an error; `output` is what it printed."""

    def __init__(self, what: str, output: str, hint: str = "") -> None:
        super().__init__(f"{what}: {output.strip() or 'kubectl said nothing'}", hint)
        self.output = output


class Kubectl:
    """kubectl with the caller's kubeconfig, in one namespace."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace

    def words(self, *words: str) -> list[str]:
        """Return a command line for the namespace."""
        return ["kubectl", "--namespace", self.namespace, *words]

    def exec_words(self, pod: str, container: str, command: Sequence[str], *, stdin: bool = False) -> list[str]:
        """Return the command line that runs `command` in a container."""
        return self.words("exec", *(("--stdin",) if stdin else ()), pod, "--container", container, "--", *command)

    def ask(self, words: Sequence[str], what: str, *, stdin: bytes = b"", limit_s: float = ASK_LIMIT_S) -> bytes:
        """Run kubectl with `words` after the namespace; return its stdout. KubectlError if it fails."""
        return self._run(self.words(*words), what, stdin, limit_s)

    def documents(self, kind: str, *options: str) -> list[dict[str, Any]]:
        """Return the namespace's objects of one kind."""
        output = self.ask(["get", kind, "--output", "json", *options], f"asking the cluster for its {kind}")
        items: list[dict[str, Any]] = json.loads(output)["items"]
        return items

    def run(
        self,
        pod: str,
        container: str,
        command: Sequence[str],
        what: str,
        *,
        stdin: bytes = b"",
        limit_s: float = ASK_LIMIT_S,
    ) -> str:
        """Run a command in a container to its end; return its stdout."""
        return self._run(self.exec_words(pod, container, command, stdin=bool(stdin)), what, stdin, limit_s).decode(
            "utf-8", "replace"
        )

    def push(self, pod: str, container: str, files: dict[str, bytes | Path], target: str) -> None:
        """Write files into a directory of a container, which is made if it does not exist."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for name, content in files.items():
                content = content.read_bytes() if isinstance(content, Path) else content  # noqa: PLW2901
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(content), 0o644
                archive.addfile(entry, io.BytesIO(content))
        command = ["sh", "-c", 'mkdir -p "$0" && tar xf - -C "$0"', target]
        what = f"copying files into pod {pod}"
        self.run(pod, container, command, what, stdin=packed.getvalue(), limit_s=COPY_LIMIT_S)

    def pull(self, pod: str, container: str, source: str, names: Sequence[str], target: Path) -> None:
        """Copy files of a directory of a container into `target`. RunError if a checksum differs from the pod's."""
        if not names:
            return
        what = f"copying files out of pod {pod}"
        sums = self.run(pod, container, ["sh", "-c", 'cd "$0" && sha256sum -- "$@"', source, *names], what)
        wanted = {name: digest for digest, _, name in (line.partition("  ") for line in sums.splitlines())}
        command = ["tar", "cf", "-", "-C", source, "--", *names]
        packed = self._run(self.exec_words(pod, container, command), what, b"", COPY_LIMIT_S)
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(target, filter="data")
        for name in names:
            with (target / name).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != wanted.get(name):
                raise RunError(f"{what}: {name} arrived damaged: sha256 {found}, in the pod {wanted.get(name)}")

    @staticmethod
    def _run(argv: Sequence[str], what: str, stdin: bytes, limit_s: float) -> bytes:
        try:
            done = run_bytes(argv, stdin=stdin, limit_s=limit_s)
        except FileNotFoundError as error:
            raise missing() from error
        except subprocess.TimeoutExpired as error:
            raise KubectlError(what, f"no answer within {limit_s:g} s: {' '.join(argv[:6])} …") from error
        if done.returncode != 0:
            raise KubectlError(what, done.stderr.decode("utf-8", "replace"))
        return done.stdout


def missing() -> MissingToolError:
    """Return the error of a machine without kubectl."""
    return MissingToolError("RUNTIME=kubernetes needs kubectl, which is not on the PATH", INSTALL_HINT)


def problem() -> tuple[str, str] | None:
    """Return why no cluster can be used from here and what to do, or None. Under 5 s."""
    if shutil.which("kubectl") is None:
        return "there is no kubectl", INSTALL_HINT
    try:
        done = run_text(["kubectl", "get", "--raw", "/version", "--request-timeout=3s"], limit_s=5)
    except subprocess.TimeoutExpired:
        return "no cluster answers within 5 s", "Check KUBECONFIG and `kubectl cluster-info`"
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        return f"no cluster answers: {lines[-1] if lines else 'kubectl failed'}", (
            "Check KUBECONFIG and `kubectl cluster-info`"
        )
    return None
