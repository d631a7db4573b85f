"""The settings of all commands: one table, from which each command takes its options.

`make` forwards a word such as `RATE=20000` as `--rate 20000`, so a setting has the same name in both. A command refuses
a setting that it would ignore, because it has no such option.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from lab.errors import InputError
from lab.experiment import tenant
from lab.experiment.overrides import OVERRIDABLE
from lab.runtime.base import Ports

_RUN, _HERE, _CLUSTER = "For this run only", "This machine", "The cluster (docs/cluster.md)"


@dataclass(frozen=True)
class Setting:
    """One setting. With `variable`, the environment variable of its name in capitals gives it too."""

    help: str
    metavar: str = "N"
    panel: str | None = None
    variable: bool = False
    flag: bool = False


SETTINGS: dict[str, Setting] = {
    "get": Setting("Load a single path with GET: /api/cart/17.", "PATH", _RUN),
    "rate": Setting("Requests a second: 70000, 70k; auto: a share of what this machine serves.", panel=_RUN),
    "scale": Setting("Factor for the declared rate: 0.3; auto: same as --rate auto.", "S", _RUN),
    "duration": Setting("How long each repetition is measured: 20s, 1m.", "TIME", _RUN),
    "warmup": Setting("Warm-up before measuring, which no figure includes: 10s; 0s for none.", "TIME", _RUN),
    "threads": Setting("Threads of the load generator; of several generators, of all together.", panel=_RUN),
    "connections": Setting("Connections, divided among the threads.", panel=_RUN),
    "repeat": Setting("Repetitions, each on a freshly started service.", panel=_RUN),
    **{
        name: Setting(f"{tenant.KNOWN[name].help}.", "NAME" if name in tenant.LISTED else "N", _RUN)
        for name in tenant.OPTIONS
    },
    "profile": Setting("off: leave out the profiled repetition, for a quick look.", "on|off", _RUN),
    "rounds": Setting("Fresh starts of each experiment; a claim needs 6.", variable=True),
    "blocks": Setting("Blocks, each a fresh start of both sides: 10."),
    "x": Setting("Difference that does not matter: 5%.", "SHARE"),
    "metric": Setting(
        "A figure that is judged by itself: p50, p99, typical-p99, cpu, …; otherwise all are judged together.", "NAME"
    ),
    "seed": Setting("Seed of the order of starts; default: random."),
    "force": Setting("Judge even if the machine was not fit to measure; the page says so.", flag=True),
    "resume": Setting(
        "Continue the newest incomplete one with these settings; error if none.", flag=True, variable=True
    ),
    "strict": Setting("Exit with 3 if the run is invalid.", flag=True, variable=True),
    "runtime": Setting(
        "Where the processes run. Default: docker if an engine answers, else local.",
        "docker|local|kubernetes",
        _HERE,
        variable=True,
    ),
    "port": Setting("The service's data port. Default: 8080; 0: a free one.", "PORT", _HERE, variable=True),
    "admin_port": Setting("The service's admin port. Default: 8081.", "PORT", _HERE, variable=True),
    "loadgen_metrics_port": Setting(
        "The port of the load generator's metrics. Default: 9101.", "PORT", _HERE, variable=True
    ),
    "monitoring": Setting(
        "Run Prometheus, node-exporter and Grafana too. Default: if nothing is measured on their CPUs.",
        "on|off",
        _HERE,
        variable=True,
    ),
    "cpus_service": Setting("CPUs of the service: 0,2-3.", "CPUS", _HERE, variable=True),
    "cpus_loadgen": Setting("CPUs of the load generator.", "CPUS", _HERE, variable=True),
    "cpus_other": Setting("CPUs of everything else.", "CPUS", _HERE, variable=True),
    "loadgen": Setting("Another load generator instead of the lab's own: /path/to/wrk2.", "FILE", _HERE, variable=True),
    "loadgen_image": Setting("The image of another load generator (docker).", "IMAGE", _HERE, variable=True),
    "generators": Setting("Load pods. THREADS must be a multiple of them.", panel=_CLUSTER, variable=True),
    "spread": Setting("off: one node may hold all parts.", "on|off", _CLUSTER, variable=True),
    "host_network": Setting("on: the nodes' network instead of the cluster's.", "on|off", _CLUSTER, variable=True),
    "store": Setting(
        "Place of the store: emptyDir, pvc, or a directory of the node.", "PLACE", _CLUSTER, variable=True
    ),
    "service_cpus": Setting("Whole CPUs of the service.", panel=_CLUSTER, variable=True),
    "service_memory": Setting("Memory of the service.", "SIZE", _CLUSTER, variable=True),
    "load_cpus": Setting("Whole CPUs of each load pod; 0 asks for none.", panel=_CLUSTER, variable=True),
    "exclusive_cpus": Setting("off: take a node without CPUs of the service's own.", "on|off", _CLUSTER, variable=True),
    "registry": Setting("Registry of the images.", "PREFIX", _CLUSTER, variable=True),
    "image_pull": Setting("When a node pulls images: Always, IfNotPresent, Never.", "POLICY", _CLUSTER, variable=True),
    "namespace": Setting("Namespace of everything; it is deleted at the end.", "NAME", _CLUSTER, variable=True),
}

OVERRIDES = (*OVERRIDABLE, "scale")
"""Settings that change an experiment."""
PORTS = {"port": "8080", "admin_port": "8081", "loadgen_metrics_port": "9101"}
MACHINE = (
    *("runtime", *PORTS, "monitoring"),
    *("cpus_service", "cpus_loadgen", "cpus_other", "loadgen", "loadgen_image"),
)
CLUSTER = tuple(name for name, setting in SETTINGS.items() if setting.panel == _CLUSTER)


class Given(dict[str, str]):
    """The settings that were given to a command, by name, as text."""

    @property
    def overrides(self) -> dict[str, str]:
        """Those that change the experiment, as `apply_overrides` takes them."""
        return self.only(OVERRIDES)

    @property
    def ports(self) -> Ports:
        """The ports of a run. Raises InputError for a word that is not a port, and for a port given twice."""
        ports = Ports(*(_port(name, self.get(name, default)) for name, default in PORTS.items()))
        if ports.data and ports.data == ports.admin:
            raise InputError(f"PORT and ADMIN_PORT are both {ports.data}: the service needs two ports")
        return ports

    @property
    def monitoring(self) -> bool | None:
        """Whether Prometheus runs beside the load; None for the default. Raises InputError for another word."""
        word = self.get("monitoring")
        if word not in (None, *SWITCH):
            raise InputError(f"MONITORING={word}: is not allowed; allowed: on, off")
        return None if word is None else SWITCH[word]

    def only(self, names: tuple[str, ...]) -> dict[str, str]:
        """Return the settings among `names`."""
        return {name: text for name, text in self.items() if name in names}


SWITCH = {word: on for on, words in ((True, "on 1 true yes"), (False, "off 0 false no")) for word in words.split()}


def takes(*names: str, refused: Mapping[str, str] | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command these settings as options; its parameter `given` has those that were set.

    `refused` are settings that the command could be expected to take, each with the reason why it does not.
    """
    refused = refused or {}

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        def called(**arguments: Any) -> Any:
            given = Given()
            for name in (*names, *refused):
                value = arguments.pop(name)
                if value is None or value is False:
                    continue
                given[name] = "1" if value is True else value
                if name in refused:
                    raise InputError(f"{name.upper()}={value}: {refused[name]}")
                if SETTINGS[name].variable:  # read where it is used
                    os.environ[name.upper()] = given[name]
            return command(**arguments, given=given)

        own = [one for one in inspect.signature(command, eval_str=True).parameters.values() if one.name != "given"]
        options = [_option(name, hidden=name in refused) for name in (*names, *refused)]
        called.__signature__ = inspect.Signature([*own, *options])  # type: ignore[attr-defined]
        called.__annotations__ = {}
        called.__name__, called.__doc__ = command.__name__, command.__doc__
        return called

    return decorate


def _option(name: str, *, hidden: bool) -> inspect.Parameter:
    setting = SETTINGS[name]
    option = typer.Option(
        "--" + name.replace("_", "-"),
        help=setting.help,
        metavar=None if setting.flag else setting.metavar,
        envvar=name.upper() if setting.variable and not hidden else None,
        rich_help_panel=setting.panel,
        hidden=hidden,
    )
    kind = Annotated[bool, option] if setting.flag else Annotated[str | None, option]
    default = False if setting.flag else None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)


def _port(name: str, text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        setting = f"{name.upper()}={text}"
        raise InputError(f"{setting}: not a port: expected a whole number from 1 to 65535, or 0 for a free one")
    return int(text)
