"""Options that several commands share, so that each has one name, one variable and one help text.

Commands name them by this module: `runtime: options.Runtime = None`.
"""

from __future__ import annotations

from typing import Annotated

import typer

from lab.errors import InputError
from lab.runtime.base import Ports

Runtime = Annotated[
    str | None,
    typer.Option(
        "--runtime",
        envvar="RUNTIME",
        metavar="docker|local|kubernetes",
        help="Where the processes run. Default: docker if an engine answers, else local.",
    ),
]
Words = Annotated[
    list[str] | None,
    typer.Argument(
        help="Overrides for every step: VARIANT=queue, CONNECTIONS=16, WARMUP=5s …", metavar="[KEY=VALUE]..."
    ),
]
MACHINE = "This machine"
Port = Annotated[
    str, typer.Option(envvar="PORT", help="The service's data port on 127.0.0.1.", rich_help_panel=MACHINE)
]
AdminPort = Annotated[str, typer.Option(envvar="ADMIN_PORT", help="The service's admin port.", rich_help_panel=MACHINE)]
MetricsPort = Annotated[
    str,
    typer.Option(
        envvar="LOADGEN_METRICS_PORT", help="The port of the load generator's metrics.", rich_help_panel=MACHINE
    ),
]
Monitoring = Annotated[
    bool | None,
    typer.Option(
        envvar="MONITORING",
        help="Run Prometheus, node-exporter and Grafana too. Default: if nothing is measured on their CPUs.",
        rich_help_panel=MACHINE,
    ),
]
Resume = Annotated[
    bool, typer.Option(envvar="RESUME", help="Continue the newest incomplete one with these settings; error if none.")
]


def override(help_text: str, metavar: str) -> typer.models.OptionInfo:
    """Return an option that overrides a value of the experiment for one run."""
    option: typer.models.OptionInfo = typer.Option(help=help_text, metavar=metavar, rich_help_panel="For this run only")
    return option


Duration = Annotated[str | None, override("How long each repetition is measured: 20s, 1m.", "TIME")]
Warmup = Annotated[
    str | None, override("Warm-up before measuring, which no figure includes: 10s; 0s for none.", "TIME")
]
Threads = Annotated[str | None, override("Threads of the load generator; of several generators, of all together.", "N")]
Connections = Annotated[str | None, override("Connections, divided among the threads.", "N")]
Profile = Annotated[str | None, override("off: leave out the profiled repetition, for a quick look.", "on|off")]


def words_of(**options: str | None) -> dict[str, str]:
    """Return the options that were given, as `apply_overrides` takes them."""
    return {key: text for key, text in options.items() if text is not None}


def ports_of(port: str, admin_port: str, loadgen_metrics_port: str) -> Ports:
    """Return the ports of a run. Raises InputError for a word that is not a port, or for a port given twice."""
    ports = Ports(
        data=_port("PORT", port),
        admin=_port("ADMIN_PORT", admin_port),
        loadgen_metrics=_port("LOADGEN_METRICS_PORT", loadgen_metrics_port),
    )
    if ports.data and ports.data == ports.admin:
        raise InputError(f"PORT and ADMIN_PORT are both {ports.data}: the service needs two ports")
    return ports


def _port(setting: str, text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise InputError(f"{setting}={text}: not a port: expected a whole number from 1 to 65535, or 0 for a free one")
    return int(text)
