"""Selects the runtime: by `RUNTIME` or `--runtime`, else docker if containers can be run, else local.

`lab check` and every command that needs a runtime ask here, so they cannot disagree.
"""

from __future__ import annotations

from lab.errors import InputError, MissingToolError, did_you_mean
from lab.paths import Checkout
from lab.progress import Progress
from lab.runtime.base import Runtime
from lab.runtime.docker import engine

RUNTIMES = ("docker", "local", "kubernetes")


def check_name(name: str | None) -> str | None:
    """Return a runtime's name as given, None for none. Raises InputError for an unknown one."""
    if not name:
        return None
    if name not in RUNTIMES:
        raise InputError(
            f"RUNTIME={name}: no such runtime{did_you_mean(name, RUNTIMES)}; available: {', '.join(RUNTIMES)}"
        )
    return name


def runtime_class(name: str) -> type[Runtime]:
    """Return the implementation, imported only when it is wanted."""
    if name == "docker":
        from lab.runtime.docker.runtime import DockerRuntime  # noqa: PLC0415

        return DockerRuntime
    if name == "kubernetes":
        from lab.kubernetes.runtime import KubernetesRuntime  # noqa: PLC0415

        return KubernetesRuntime
    from lab.runtime.local.runtime import LocalRuntime  # noqa: PLC0415

    return LocalRuntime


def default_name() -> tuple[str, str]:
    """Return the default runtime, and why it is not docker.

    The reason is empty if it is docker, and if there is no docker command at all.
    """
    if engine.client_problem() is not None:
        return "local", ""
    problem = engine.first_problem()
    return ("docker", "") if problem is None else ("local", problem.what)


def choose(checkout: Checkout, name: str | None, tell: Progress, *, single: bool = False) -> Runtime:
    """Return the runtime for one run; `tell` is told why it is not docker if that might surprise.

    `single`: for one experiment at one rate; only that can be run in a cluster. Raises MissingToolError if docker is
    asked for and containers cannot be run, InputError if kubernetes is asked for and this is no single run.
    """
    wanted = check_name(name)
    if wanted == "kubernetes" and not single:
        raise InputError(
            "RUNTIME=kubernetes runs single experiments only (make experiment), because its namespace holds one "
            "service for one run: set RUNTIME=docker or local"
        )
    if wanted is None:
        wanted, why = default_name()
        if why:
            tell(f"runtime: local, because {why}")
    elif wanted == "docker":
        problem = engine.first_problem()
        if problem is not None:
            raise MissingToolError(f"RUNTIME=docker: {problem.what}", f"{problem.hint}; or RUNTIME=local")
    return runtime_class(wanted)(checkout)
