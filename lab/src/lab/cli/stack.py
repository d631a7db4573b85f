"""The monitoring stack in Docker: up, open, down."""

from __future__ import annotations

import typer

from lab.cli.output import console
from lab.errors import InputError
from lab.paths import find_checkout
from lab.runtime.docker.monitoring import Stack

commands = typer.Typer()


@commands.command()
def up() -> None:
    """Start Prometheus, Grafana, node-exporter and the artifact server, to stay up across runs (docker)."""
    screen = console()
    addresses = Stack(find_checkout()).up(lambda line: screen.print(line, highlight=False))
    for name, address in addresses.items():
        screen.print(f"{name:<14}{address}", highlight=False)


@commands.command("open")
def open_pages() -> None:
    """Print the addresses of the stack that is up, and open Grafana and the results in a browser (docker)."""
    addresses = Stack(find_checkout()).addresses()
    if not addresses:
        raise InputError("the stack is not running", "make up starts it")
    for name, address in addresses.items():
        typer.echo(f"{name:<14}{address}")
    for name in ("grafana", "artifacts"):
        if name in addresses:
            typer.launch(addresses[name])


@commands.command()
def down() -> None:
    """Stop all containers of the lab (docker)."""
    Stack(find_checkout()).down()
