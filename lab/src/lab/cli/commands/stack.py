"""The monitoring stack in Docker: up, open, down."""

from __future__ import annotations

import typer

from lab.cli.output import console, tell
from lab.errors import InputError
from lab.paths import find_checkout

commands = typer.Typer()


@commands.command()
def up() -> None:
    """Start Prometheus, Grafana, node-exporter and the artifact server, to stay up across runs (docker)."""
    from lab.runtime.select import choose  # noqa: PLC0415

    screen = console()
    runtime = choose(find_checkout(), "docker", tell)
    addresses = runtime.stack_up(lambda line: screen.print(line, highlight=False))
    for name, address in addresses.items():
        screen.print(f"{name:<14}{address}", highlight=False)


@commands.command("open")
def open_pages() -> None:
    """Print the addresses of the stack that is up, and open Grafana and the results in a browser (docker)."""
    from lab.runtime.docker.runtime import DockerRuntime  # noqa: PLC0415

    addresses = DockerRuntime(find_checkout()).stack_addresses()
    if not addresses:
        raise InputError("nothing of the stack is up", "make up starts it")
    for name, address in addresses.items():
        typer.echo(f"{name:<14}{address}")
    for name in ("grafana", "artifacts"):
        if name in addresses:
            typer.launch(addresses[name])


@commands.command()
def down() -> None:
    """Stop all containers of the lab (docker)."""
    from lab.runtime.select import choose  # noqa: PLC0415

    choose(find_checkout(), "docker", tell).stack_down()
