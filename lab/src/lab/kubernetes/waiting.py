"""Waits for the pods of a run, and explains why one does not start."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from lab.errors import RunError
from lab.kubernetes.kubectl import Kubectl
from lab.kubernetes.manifests import COMPONENT, PART_OF
from lab.progress import Progress

POLL_S = 0.5
UNSCHEDULABLE_GRACE_S = 15.0
"""Time for a cluster that adds nodes on demand, or ends pods of others."""
PODS_LIMIT_S = 600.0

IMAGE_REASONS = {"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError"}
BROKEN_REASONS = {"CreateContainerError", "CreateContainerConfigError", "RunContainerError", "CrashLoopBackOff"}

Pod = Mapping[str, Any]


def own_pods(kubectl: Kubectl) -> list[dict[str, Any]]:
    """Return the pods of the run."""
    return kubectl.documents("pods", f"--selector={PART_OF}=lsmlab")


def name_of(pod: Pod) -> str:
    """Return a pod's name."""
    return str(pod["metadata"]["name"])


def component_of(pod: Pod) -> str:
    """Return `service`, `load` or `converter`."""
    return str(pod["metadata"]["labels"].get(COMPONENT, ""))


def wait_for_pods(kubectl: Kubectl, count: int, progress: Progress) -> list[dict[str, Any]]:
    """Return the run's pods when `count` of them run. RunError says why one will not."""
    began, last_line = time.monotonic(), ""
    unschedulable_since: float | None = None
    while True:
        pods = own_pods(kubectl)
        waiting = [pod for pod in pods if not _is_ready(pod)]
        if len(pods) >= count and not waiting:
            return pods
        for pod in waiting:
            if (trouble := _trouble(pod)) is not None:
                raise trouble
        unplaced = [text for pod in waiting if (text := _unschedulable(pod)) is not None]
        now = time.monotonic()
        unschedulable_since = (unschedulable_since or now) if unplaced else None
        if unschedulable_since is not None and now - unschedulable_since > UNSCHEDULABLE_GRACE_S:
            raise RunError(
                unplaced[0],
                "Fewer CPUs: SERVICE_CPUS=1 LOAD_CPUS=0. All parts on one node: SPREAD=off. "
                "Fewer generators: GENERATORS=1",
            )
        if len(pods) < count and (refusal := _refused_pods(kubectl)):
            raise RunError(f"the cluster refuses a load pod: {refusal}", "Ask for less, or for a larger quota")
        if now - began > PODS_LIMIT_S:
            names = ", ".join(f"{name_of(pod)} is {pod['status'].get('phase')}" for pod in waiting)
            raise RunError(f"the pods were not ready after {PODS_LIMIT_S:g} s: {names}")
        line = f"waiting for {len(waiting) + max(0, count - len(pods))} of {count} pods"
        if line != last_line:
            progress(line)
            last_line = line
        time.sleep(POLL_S)


def why_lost(kubectl: Kubectl, name: str) -> str:
    """Return what happened to a pod whose process was lost; empty if it runs normally."""
    try:
        pods = {name_of(pod): pod for pod in own_pods(kubectl)}
    except RunError as error:
        return f"the API server does not answer ({error.message.splitlines()[0]})"
    pod = pods.get(name)
    if pod is None:
        return f"pod {name} is gone: it was deleted, or its node was drained"
    status = pod["status"]
    if "deletionTimestamp" in pod["metadata"]:
        return f"pod {name} is being deleted, or its node is drained"
    if status.get("phase") in ("Failed", "Succeeded"):
        return f"pod {name} has ended: {status.get('reason') or ''} {status.get('message') or ''}".strip()
    for container in status.get("containerStatuses", []):
        ended = container.get("state", {}).get("terminated") or container.get("lastState", {}).get("terminated")
        if ended:
            return f"container {container['name']} of pod {name} was ended: {ended.get('reason')}"
    return ""


def _is_ready(pod: Pod) -> bool:
    if "deletionTimestamp" in pod["metadata"]:
        return False
    return any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", []))


def _trouble(pod: Pod) -> RunError | None:
    name, status = name_of(pod), pod["status"]
    if status.get("phase") == "Failed":
        return RunError(f"pod {name} failed: {status.get('reason', '')} {status.get('message', '')}".rstrip())
    for container in status.get("containerStatuses", []):
        waiting = container.get("state", {}).get("waiting") or {}
        reason, text = waiting.get("reason", ""), waiting.get("message", "")
        if reason in IMAGE_REASONS:
            return RunError(
                f"the image {container['image']} is missing on the node of pod {name}: {reason} {text}".rstrip(),
                "Push it and set REGISTRY=registry.example/lab, or load it into every node and set IMAGE_PULL=Never",
            )
        if reason in BROKEN_REASONS:
            return RunError(f"container {container['name']} of pod {name} cannot be started: {reason} {text}".rstrip())
    return None


def _unschedulable(pod: Pod) -> str | None:
    for condition in pod["status"].get("conditions", []):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return f"no node can take pod {name_of(pod)}: {condition.get('message', condition.get('reason', ''))}"
    return None


def _refused_pods(kubectl: Kubectl) -> str:
    events = kubectl.documents("events", "--field-selector=reason=FailedCreate")
    return str(events[-1].get("message", "")) if events else ""
