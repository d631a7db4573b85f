"""The namespace that a killed lab left, and how a namespace names the lab that it belongs to."""

from __future__ import annotations

import json
import os
import platform

from lab.errors import RunError
from lab.kubernetes.kubectl import Kubectl
from lab.kubernetes.manifests import OWNER, PART_OF
from lab.progress import Progress
from lab.runtime.docker.engine import is_live_lab

LEFTOVER_LIMIT_S = 50.0


def this_lab() -> str:
    """Return the owner of what this process makes: host name and pid."""
    return f"{platform.node()}:{os.getpid()}"


def remove_leftover(kubectl: Kubectl, progress: Progress) -> None:
    """Delete the namespace if a dead lab of this machine left it. RunError if it belongs to anyone else."""
    name = kubectl.namespace
    output = kubectl.ask(["get", "namespace", name, "--ignore-not-found", "--output=json"], "looking for leftovers")
    if not output.strip():
        return
    metadata = json.loads(output)["metadata"]
    if metadata.get("labels", {}).get(PART_OF) != "lsmlab":
        raise RunError(
            f"the namespace {name} exists and does not belong to the lab", "Name another one: NAMESPACE=lsmlab-2"
        )
    owner = str(metadata.get("annotations", {}).get(OWNER, ""))
    host, _, pid = owner.partition(":")
    if host != platform.node() or not pid.isdigit():
        raise RunError(
            f"the namespace {name} belongs to a lab on another machine ({owner or 'unknown'})",
            f"If that lab is dead: kubectl delete namespace {name}. Or name another one: NAMESPACE=lsmlab-2",
        )
    if is_live_lab(int(pid)):
        raise RunError(
            f"another lab (process {pid}) runs an experiment in the namespace {name}",
            "Wait until it ends, or name another one: NAMESPACE=lsmlab-2",
        )
    progress(f"removing what an earlier run left: namespace {name}")
    words = ["delete", "namespace", name, "--ignore-not-found", f"--timeout={LEFTOVER_LIMIT_S:g}s"]
    kubectl.ask(words, f"removing the namespace {name} of a dead run", limit_s=LEFTOVER_LIMIT_S + 5)
