"""`lab`: the commands. Each reads its options, calls one function, prints; expected errors have no traceback."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lab import __version__
from lab.cpu_plan import ELSEWHERE
from lab.errors import InputError, LabError
from lab.experiment import Catalogue, apply_overrides
from lab.machine.cpus import plan_cpus
from lab.paths import find_checkout
from lab.runtime.base import Ports

app = typer.Typer(
    name="lab",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Runs the experiments of LSM Lab: which code shapes a key-value service's throughput and tail latency?\n\n"
    "An [bold]experiment[/] (experiments/NAME/experiment.yaml) declares a service, a dataset and a load. "
    "[bold]lab run NAME[/] executes it once and leaves results/NAME/RUN/report.html: latency by percentile, "
    "latency over time, flame graphs, and a verdict on whether the figures may be quoted.\n\n"
    "Start with [bold]lab list[/], then [bold]lab run stack-get --rate 20000 --duration 20s[/].",
)

UNLIMITED_WIDTH = 1000

RuntimeOption = Annotated[
    str | None,
    typer.Option(
        "--runtime",
        envvar="RUNTIME",
        metavar="docker|local|kubernetes",
        help="Where the processes run. Default: docker where an engine answers, else local.",
    ),
]


def _override(help_text: str, metavar: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(help=help_text, metavar=metavar, rich_help_panel="For this run only")
    return option


@app.command()
def run(  # noqa: PLR0917 - one parameter an option
    name: Annotated[str, typer.Argument(help="The experiment: a directory under experiments/. `lab list` shows all.")],
    rate: Annotated[str | None, _override("Requests a second: 70000, 70k; auto: as this machine bears.", "N")] = None,
    scale: Annotated[str | None, _override("Multiplies the declared rate: 0.3; auto: as RATE=auto.", "S")] = None,
    duration: Annotated[str | None, _override("How long each repetition is measured: 20s, 1m.", "TIME")] = None,
    warmup: Annotated[str | None, _override("The same load beforehand, thrown away: 10s; 0s: none.", "TIME")] = None,
    threads: Annotated[str | None, _override("Threads of the load generator.", "N")] = None,
    connections: Annotated[str | None, _override("Connections, shared out over the threads.", "N")] = None,
    repeat: Annotated[str | None, _override("Repetitions, each on a freshly started service.", "N")] = None,
    variant: Annotated[str | None, _override("How the server runs requests; see `lab variants`.", "NAME")] = None,
    engine: Annotated[str | None, _override("The store: lsm, rocksdb, mvstore, memory, null.", "NAME")] = None,
    workers: Annotated[str | None, _override("Worker threads of a variant that has them.", "N")] = None,
    selectors: Annotated[str | None, _override("Selector threads; 0: one a CPU.", "N")] = None,
    queue_capacity: Annotated[str | None, _override("Requests that may wait; more is answered 503.", "N")] = None,
    profile: Annotated[str | None, _override("off: no profiled repetition, for a quick look.", "on|off")] = None,
    runtime: RuntimeOption = None,
    port: Annotated[
        str, typer.Option(envvar="PORT", help="The service's data port on 127.0.0.1.", rich_help_panel="This machine")
    ] = "8080",
    admin_port: Annotated[
        str, typer.Option(envvar="ADMIN_PORT", help="Its admin port.", rich_help_panel="This machine")
    ] = "8081",
    loadgen_metrics_port: Annotated[
        str,
        typer.Option(
            envvar="LOADGEN_METRICS_PORT", help="The load generator's metrics.", rich_help_panel="This machine"
        ),
    ] = "9101",
    monitoring: Annotated[
        bool,
        typer.Option(
            envvar="MONITORING", help="Prometheus and the like beside the run.", rich_help_panel="This machine"
        ),
    ] = True,
    strict: Annotated[
        bool, typer.Option(envvar="STRICT", help="Exit with 3 if the run is invalid.", rich_help_panel="This machine")
    ] = False,
    resume: Annotated[bool, typer.Option(envvar="RESUME", help="Go on with the newest incomplete sweep.")] = False,
) -> None:
    """Run an experiment: build, fill, start, warm up, measure, profile, report.

    Nothing is left running however it ends, and what was collected is kept. Values given here are recorded as
    overrides and count for this run only. CPUS_SERVICE, CPUS_LOADGEN and CPUS_OTHER (such as 0,2-3) in the
    environment override the CPU plan; LOADGEN=/path/to/wrk2 puts another load generator in place of the lab's own,
    LOADGEN_IMAGE another image (docker runtime).

    Exit code: 0 the run is complete, whatever its verdict; 1 a phase failed; 2 bad input, nothing was started;
    3 the run is complete and invalid, and STRICT=1 was set; 130 after Ctrl-C.
    """
    from lab.capacity import Capacities, advice  # noqa: PLC0415
    from lab.run import Run, RunPlan  # noqa: PLC0415 - it brings numpy and plots: `lab list` is quicker without
    from lab.run.show import Show  # noqa: PLC0415
    from lab.runtime.select import check_name, choose  # noqa: PLC0415

    given = {
        "rate": rate,
        "scale": scale,
        "duration": duration,
        "warmup": warmup,
        "threads": threads,
        "connections": connections,
        "repeat": repeat,
        "variant": variant,
        "engine": engine,
        "workers": workers,
        "selectors": selectors,
        "queue_capacity": queue_capacity,
        "profile": profile,
    }
    checkout = find_checkout()
    check_name(runtime)
    words = {key: text for key, text in given.items() if text is not None}
    ports = _ports(port, admin_port, loadgen_metrics_port)
    cpus, console = plan_cpus(os.environ), _console()
    declared = Catalogue(checkout).read(name)
    chosen = choose(checkout, runtime, _tell, single=not declared.sweep_per_s)
    if chosen.remote:
        cpus = ELSEWHERE
    capacities = Capacities(checkout, cpus, chosen.name)
    experiment, overrides = apply_overrides(declared, words, capacities.saturation_of(name))
    console.print(Text.assemble((name, "bold"), f": {experiment.title}"), highlight=False)
    if experiment.rate_choice is None and (line := advice(name, experiment, capacities.find(experiment), cpus)):
        console.print(Text(line, style="yellow"), soft_wrap=True, highlight=False)
    if experiment.sweep_per_s:
        from lab.rates.sweep import run_sweep  # noqa: PLC0415
        from lab.series import Place  # noqa: PLC0415

        place = Place(checkout, lambda: choose(checkout, chosen.name, _tell), cpus, ports, monitoring, capacities)
        run_sweep(place, name, experiment, words, console, resume=resume)
        return
    plan = RunPlan(
        checkout=checkout,
        name=name,
        experiment=experiment,
        overrides=overrides,
        cpus=cpus,
        ports=ports,
        monitoring=monitoring,
        strict=strict,
        runtime=chosen,
    )
    raise typer.Exit(Run(plan, Show(console)).execute())


WordsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        help="Overrides for every step: VARIANT=queue, CONNECTIONS=16, WARMUP=5s …", metavar="[KEY=VALUE]..."
    ),
]
PortOption = Annotated[str, typer.Option(envvar="PORT", help="The service's data port.")]
AdminPortOption = Annotated[str, typer.Option(envvar="ADMIN_PORT", help="Its admin port.")]
MetricsPortOption = Annotated[str, typer.Option(envvar="LOADGEN_METRICS_PORT", help="The load generator's metrics.")]
MonitoringOption = Annotated[bool, typer.Option(envvar="MONITORING", help="Prometheus and the like beside the runs.")]


@app.command()
def search(  # noqa: PLR0917 - one parameter an option
    name: Annotated[str, typer.Argument(help="The experiment. `lab list` shows all.")],
    slo: Annotated[str, typer.Argument(help="The limit: 'p99.9<100ms', 'max<100ms'.")],
    words: WordsArgument = None,
    resume: Annotated[bool, typer.Option(envvar="RESUME", help="Go on with the newest incomplete one.")] = False,
    runtime: RuntimeOption = None,
    port: PortOption = "8080",
    admin_port: AdminPortOption = "8081",
    loadgen_metrics_port: MetricsPortOption = "9101",
    monitoring: MonitoringOption = True,
) -> None:
    """Search for the highest rate of an experiment that holds a limit of latency.

    The rate is doubled until the limit breaks, then bisected; each step is a run of its own. docs/search.md has the
    method. Exit code: 0 there is an answer; 1 a step failed, RESUME=1 goes on; 2 bad input, nothing was started.
    """
    from lab.cli import rates  # noqa: PLC0415

    asked = rates.asked_for(find_checkout(), name, words or [], slo)
    ports = _ports(port, admin_port, loadgen_metrics_port)
    rates.search(_console(), asked, rates.place_of(runtime, ports, _tell, monitoring=monitoring), resume=resume)


@app.command()
def capacity(  # noqa: PLR0917 - one parameter an option
    name: Annotated[str, typer.Argument(help="The experiment. `lab list` shows all.")],
    words: WordsArgument = None,
    runtime: RuntimeOption = None,
    port: PortOption = "8080",
    admin_port: AdminPortOption = "8081",
    loadgen_metrics_port: MetricsPortOption = "9101",
    monitoring: MonitoringOption = True,
) -> None:
    """Measure what this machine serves of an experiment at most, which RATE=auto is then based on; about a minute.

    It is kept in .cache until the machine, the CPU plan or the sources of the service change.
    """
    from lab.cli import rates  # noqa: PLC0415

    asked = rates.asked_for(find_checkout(), name, words or [])
    ports = _ports(port, admin_port, loadgen_metrics_port)
    rates.measure(_console(), asked, rates.place_of(runtime, ports, _tell, monitoring=monitoring))


@app.command()
def suite(  # noqa: PLR0917 - one parameter an option
    name: Annotated[str, typer.Argument(help="The suite: a file under experiments/suites. `lab suites` shows all.")],
    rounds: Annotated[int, typer.Option(envvar="ROUNDS", help="Fresh starts of each experiment; 6 for a claim.")] = 6,
    scale: Annotated[str | None, typer.Option(metavar="N", help="Factor of every declared rate: 0.3, auto.")] = None,
    duration: Annotated[str | None, _override("How long each start is measured: 20s, 1m.", "TIME")] = None,
    warmup: Annotated[str | None, _override("The same load beforehand, thrown away: 10s; 0s: none.", "TIME")] = None,
    profile: Annotated[str | None, _override("off: no profiled repetition in the last round.", "on|off")] = None,
    resume: Annotated[bool, typer.Option(envvar="RESUME", help="Go on with the newest incomplete one.")] = False,
    seed: Annotated[int | None, typer.Option(help="Of the order of the rounds; random where none is given.")] = None,
    runtime: RuntimeOption = None,
    port: Annotated[str, typer.Option(envvar="PORT", help="The service's data port.")] = "8080",
    admin_port: Annotated[str, typer.Option(envvar="ADMIN_PORT", help="Its admin port.")] = "8081",
    loadgen_metrics_port: Annotated[str, typer.Option(envvar="LOADGEN_METRICS_PORT")] = "9101",
    monitoring: Annotated[bool, typer.Option(envvar="MONITORING")] = True,
) -> None:
    """Run a suite: its experiments interleaved, one page that judges what was published about them.

    Exit code: 0 every run is there; 1 a run failed, RESUME=1 repeats it alone; 2 bad input, nothing was started;
    130 after Ctrl-C, and RESUME=1 goes on.
    """
    from lab.capacity import Capacities  # noqa: PLC0415
    from lab.runtime.select import check_name, choose  # noqa: PLC0415
    from lab.series import Place  # noqa: PLC0415
    from lab.suite import SuiteRequest, read_suite, run_suite  # noqa: PLC0415

    checkout = find_checkout()
    check_name(runtime)
    read_suite(checkout, name)
    given = {"duration": duration, "warmup": warmup, "profile": profile}
    ports = _ports(port, admin_port, loadgen_metrics_port)
    chosen = choose(checkout, runtime, _tell).name
    request = SuiteRequest(
        name=name,
        rounds=rounds,
        scale=scale,
        overrides={key: text for key, text in given.items() if text is not None},
        resume=resume,
        seed=seed,
    )
    cpus = plan_cpus(os.environ)
    capacities = Capacities(checkout, cpus, chosen)
    place = Place(checkout, lambda: choose(checkout, chosen, _tell), cpus, ports, monitoring, capacities)
    run_suite(place, request, _console(), chosen)


@app.command("suites")
def list_suites() -> None:
    """List the suites there are, each with its question."""
    from lab.suite import read_suite, suite_names  # noqa: PLC0415

    checkout = find_checkout()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("suite", "experiments", "question"):
        table.add_column(column, justify="right" if column == "experiments" else "left", no_wrap=column != "question")
    for name in suite_names(checkout):
        declared, cases = read_suite(checkout, name)
        table.add_row(name, str(len(cases)), Text(declared.question))
    _console().print(table)


@app.command()
def findings(name: Annotated[str, typer.Argument(help="A suite that was run to its end.")]) -> None:
    """Write docs/findings/NAME/ from the newest complete suite of that name: small files, kept with the source."""
    from lab.suite.publish import publish  # noqa: PLC0415

    typer.echo(publish(find_checkout(), name))


@app.command("list")
def list_experiments() -> None:
    """List the experiments there are, each with its load and its question."""
    catalogue = Catalogue(find_checkout())
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("experiment", "rate/s", "for", "title"):
        table.add_column(column, justify="right" if column == "rate/s" else "left", no_wrap=column != "title")
    from lab.units import duration_word  # noqa: PLC0415

    problems: list[LabError] = []
    for name in catalogue.names():
        try:
            experiment = catalogue.read(name)
        except LabError as error:
            problems.append(error)
            continue
        load = experiment.load
        table.add_row(
            name,
            f"{load.rate_per_s:,}" + (f" – {experiment.sweep_per_s[-1]:,}" if experiment.sweep_per_s else ""),
            f"{experiment.repeat} × {duration_word(load.duration_s)}",
            Text(experiment.title),
        )
    _console().print(table)
    for problem in problems:
        _show_error(problem)
    if problems:
        raise typer.Exit(2)


@app.command()
def results(  # noqa: PLR0917 - one parameter an option
    name: Annotated[str | None, typer.Argument(help="Only the runs of this experiment; a pattern: '*-get'.")] = None,
    variant: Annotated[str | None, typer.Option(help="Only runs of this variant.")] = None,
    runtime: Annotated[
        str | None, typer.Option(help="Only runs in this runtime.", metavar="docker|local|kubernetes")
    ] = None,
    since: Annotated[str | None, typer.Option(help="Only newer runs: 2026-11-20, 7d, 12h.")] = None,
    valid: Annotated[bool, typer.Option("--valid", help="Only runs whose verdict is valid.")] = False,
    last: Annotated[int, typer.Option(min=0, help="How many at most; 0: all.")] = 50,
) -> None:
    """List the runs there are, newest first, with their verdicts; results/index.html shows them in a browser."""
    from lab.cli.results import print_results  # noqa: PLC0415
    from lab.history.index import Filter  # noqa: PLC0415

    print_results(_console(), find_checkout(), Filter(name, variant, runtime, since, valid), last)


@app.command()
def index() -> None:
    """Write results/index.html: all runs, to browse, filter and plot over time."""
    from lab.history.page import write_index  # noqa: PLC0415

    typer.echo(write_index(find_checkout()))


@app.command("export")
def export_run(
    run: Annotated[str, typer.Argument(help="A run, `stack-get/20261121T091433Z`, a tag, or `suite/…`.")],
    out: Annotated[Path | None, typer.Option(help="The file; default: in this directory, named after the run.")] = None,
) -> None:
    """Pack a run, or a suite with all its runs, into one .tar.gz."""
    from lab.history.keeping import export  # noqa: PLC0415

    typer.echo(export(find_checkout(), run, out))


@app.command("tag")
def tag_run(
    run: Annotated[str, typer.Argument(help="A run: `stack-get/20261121T091433Z`.")],
    word: Annotated[str, typer.Argument(metavar="TAG", help="Such as `baseline`; moves if it is there already.")],
) -> None:
    """Tag a run: `prune` keeps it, and `export` knows it by its tag."""
    from lab.history.keeping import tag  # noqa: PLC0415

    tag(find_checkout(), run, word)


@app.command()
def prune(
    keep: Annotated[int, typer.Option(envvar="KEEP", help="Newest complete runs of each experiment that stay.")] = 10,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would go.")] = False,
) -> None:
    """Remove old runs. What a suite, a search, a comparison or a tag refers to stays."""
    from lab.history.keeping import prune as prune_runs  # noqa: PLC0415
    from lab.history.keeping import told  # noqa: PLC0415

    gone, kept = prune_runs(find_checkout(), keep, dry_run=dry_run)
    console = _console()
    for one in gone:
        console.print(f"{'would go' if dry_run else 'removed'}  {one.name}", highlight=False)
    for one in kept:
        console.print(f"stays     {one.name}, for {one.kept_for}", highlight=False)
    console.print(f"{told(gone)} {'would go' if dry_run else 'removed'}; {told(kept)} kept for others", highlight=False)


@app.command()
def diff(
    a: Annotated[str, typer.Argument(help="Before: a run (`stack-get/20261121T091433Z`) or an experiment.")],
    b: Annotated[str, typer.Argument(help="After: a run or an experiment.")],
    force: Annotated[bool, typer.Option("--force", help="Compare across engines and intervals too.")] = False,
) -> None:
    """Say which code changed between two profiled runs or experiments, by which share, and how sure that is."""
    from lab.cli.diff import print_difference  # noqa: PLC0415

    print_difference(_console(), find_checkout(), a, b, force=force)


@app.command()
def compare(  # noqa: PLR0917 - one parameter an option
    a: Annotated[str, typer.Argument(help="An experiment, as 'stack-get VARIANT=queue'; or a finished run.")],
    b: Annotated[str, typer.Argument(help="The same of what is compared with it.")],
    words: Annotated[
        list[str] | None,
        typer.Argument(
            help="RATE=, DURATION= and the other overrides, for both sides; BLOCKS=10 (or 6/12/18), X=5%, METRIC=p99, "
            "SEED=.",
            metavar="[KEY=VALUE]...",
        ),
    ] = None,
    runtime: RuntimeOption = None,
    port: Annotated[str, typer.Option(envvar="PORT", help="A's data port; B takes free ones.")] = "8080",
    admin_port: Annotated[str, typer.Option(envvar="ADMIN_PORT", help="A's admin port.")] = "8081",
    loadgen_metrics_port: Annotated[
        str, typer.Option(envvar="LOADGEN_METRICS_PORT", help="The load generator's metrics.")
    ] = "9101",
) -> None:
    """Say whether B is better than A, worse, the same within X%, or whether one cannot tell.

    Both run in turns: each block starts both afresh and lets windows of load alternate between them. The sample is the
    block, never the request. docs/compare.md has the method and what the words mean.
    """
    from lab.cli.compare import compare as compare_sides  # noqa: PLC0415

    ports = _ports(port, admin_port, loadgen_metrics_port)
    code = compare_sides(_console(), find_checkout(), (a, b), words or [], runtime=runtime, ports=ports, tell=_tell)
    raise typer.Exit(code)


@app.command()
def regress(
    base: Annotated[str, typer.Argument(help="The revision to compare with: HEAD~1, main, a tag.")],
    name: Annotated[str, typer.Argument(help="The experiment, with overrides as in `lab compare`.")] = "sync-get",
    words: Annotated[
        list[str] | None, typer.Argument(help="As those of `lab compare`.", metavar="[KEY=VALUE]...")
    ] = None,
) -> None:
    """Say whether this checkout's service is better than an earlier one, worse, or the same (local runtime).

    The service of that revision is built in a git worktree under .cache, which is removed afterwards.
    """
    from lab.cli.compare import regress as compare_revisions  # noqa: PLC0415

    ports = Ports()
    code = compare_revisions(_console(), find_checkout(), base, name, words or [], ports=ports, tell=_tell)
    raise typer.Exit(code)


@app.command()
def profiling_cost(  # noqa: PLR0917 - one parameter an option
    name: Annotated[str, typer.Argument(help="The experiment, with overrides as in `lab compare`.")],
    words: Annotated[
        list[str] | None, typer.Argument(help="As those of `lab compare`.", metavar="[KEY=VALUE]...")
    ] = None,
    runtime: RuntimeOption = None,
    port: Annotated[str, typer.Option(envvar="PORT", help="A's data port; B takes free ones.")] = "8080",
    admin_port: Annotated[str, typer.Option(envvar="ADMIN_PORT", help="A's admin port.")] = "8081",
    loadgen_metrics_port: Annotated[
        str, typer.Option(envvar="LOADGEN_METRICS_PORT", help="The load generator's metrics.")
    ] = "9101",
) -> None:
    """Say what being profiled costs an experiment: latency, rate, CPU and memory a request, with intervals.

    A comparison in turns, whose side B is recorded in each of its windows as the experiment's profile says.
    """
    from lab.cli.compare import profiling_cost as compare_recorded  # noqa: PLC0415

    ports = _ports(port, admin_port, loadgen_metrics_port)
    code = compare_recorded(_console(), find_checkout(), name, words or [], runtime=runtime, ports=ports, tell=_tell)
    raise typer.Exit(code)


@app.command()
def validate(
    names: Annotated[list[str] | None, typer.Argument(help="Experiments; all where none is named.")] = None,
    runtime: RuntimeOption = None,
) -> None:
    """Check experiment files without running them: keys, units, datasets, scripts, variants and engines.

    Only the service knows its variants and engines, so it is built first where it has changed.
    """
    from lab.cli.validate import problems_of  # noqa: PLC0415

    checkout = find_checkout()
    wanted = names or Catalogue(checkout).names()
    problems = problems_of(checkout, wanted, runtime, _tell)
    for problem in problems:
        _show_error(problem)
    if problems:
        raise typer.Exit(2)
    count = "1 experiment is" if len(wanted) == 1 else f"{len(wanted)} experiments are"
    _console().print(f"{count} sound", highlight=False)


@app.command()
def manifests(
    name: Annotated[str, typer.Argument(help="The experiment.")],
    threads: Annotated[str | None, _override("Threads of the load generators together.", "N")] = None,
    connections: Annotated[str | None, _override("Connections, shared out over the threads.", "N")] = None,
) -> None:
    """Print the objects that RUNTIME=kubernetes makes for an experiment, by the settings in docs/cluster.md."""
    from lab.run.preflight import dataset_bytes  # noqa: PLC0415
    from lab.runtime.kubernetes.manifests import as_yaml  # noqa: PLC0415
    from lab.runtime.kubernetes.placement import read_placement  # noqa: PLC0415
    from lab.runtime.kubernetes.runtime import objects_of  # noqa: PLC0415

    checkout = find_checkout()
    given = {"threads": threads, "connections": connections}
    words = {key: text for key, text in given.items() if text is not None}
    experiment, _ = apply_overrides(Catalogue(checkout).read(name), words)
    load, size = experiment.load, dataset_bytes(checkout, experiment)
    objects = objects_of(read_placement(os.environ), name, load.threads, load.connections, size)
    typer.echo(as_yaml(objects), nl=False)


@app.command()
def variants(runtime: RuntimeOption = None) -> None:
    """List the server variants and engines, as the service names them; it is built first where it has changed."""
    from lab.runtime.select import choose  # noqa: PLC0415

    checkout = find_checkout()
    chosen = choose(checkout, runtime, _tell)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("variant")
    table.add_column("what it does")
    try:
        checkout.cache.mkdir(parents=True, exist_ok=True)
        with Console(stderr=True).status("building the service …") as status:
            chosen.build_service(checkout.cache / "build-service.log", lambda line: status.update(Text(line)))
        for choice in chosen.variants():
            table.add_row(choice.name, Text(choice.summary))
        table.add_section()
        table.add_row(Text("engine", style="bold"), Text("what it is", style="bold"))
        for choice in chosen.engines():
            table.add_row(choice.name, Text(choice.summary))
    finally:
        chosen.close()
    _console().print(table)


@app.command()
def doctor() -> None:
    """Say what this machine has and lacks for each runtime, and the exact command that gets what is missing."""
    from lab.cli.doctor import print_checks  # noqa: PLC0415

    raise typer.Exit(print_checks(_console()))


@app.command()
def calibrate(
    starts: Annotated[int, typer.Option(envvar="STARTS", help="Starts of the service in the A/A test.")] = 20,
    runtime: RuntimeOption = None,
) -> None:
    """Measure what this machine can do, and the smallest difference that it can show; about eight minutes."""
    from lab.cli.machine import run_calibration  # noqa: PLC0415

    run_calibration(_console(), find_checkout(), runtime, starts)


@app.command()
def quiet() -> None:
    """Make the machine quieter (root): governor, huge pages, interrupts; each change is printed."""
    from lab.cli.machine import set_quiet  # noqa: PLC0415

    set_quiet(_console(), find_checkout(), quiet=True)


@app.command()
def unquiet() -> None:
    """Put back what `quiet` changed, also after a crash."""
    from lab.cli.machine import set_quiet  # noqa: PLC0415

    set_quiet(_console(), find_checkout(), quiet=False)


@app.command()
def up() -> None:
    """Start Prometheus, Grafana, node-exporter and the artifact server, to stay up across runs (docker)."""
    from lab.runtime.select import choose  # noqa: PLC0415

    console = _console()
    runtime = choose(find_checkout(), "docker", _tell)
    addresses = runtime.stack_up(lambda line: console.print(line, highlight=False))
    for name, address in addresses.items():
        console.print(f"{name:<14}{address}", highlight=False)


@app.command("open")
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


@app.command()
def down() -> None:
    """Stop all containers of the lab (docker)."""
    from lab.runtime.select import choose  # noqa: PLC0415

    choose(find_checkout(), "docker", _tell).stack_down()


@app.command()
def report(
    directory: Annotated[Path, typer.Argument(help="A run directory, results/NAME/RUN.", metavar="RUN_DIRECTORY")],
) -> None:
    """Write report.html and report.md of a run anew, from its directory alone."""
    from lab.cli.reading import report_again  # noqa: PLC0415

    typer.echo(report_again(directory))


@app.command("parse-load")
def parse_load(
    file: Annotated[str, typer.Argument(help="The text that wrk2 printed; - reads standard input.", metavar="FILE")],
) -> None:
    """Print the JSON of a report that wrk2, or a generator that prints the same, wrote as text."""
    from lab.cli.reading import load_text_as_json  # noqa: PLC0415

    typer.echo(load_text_as_json(file))


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lab {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def _tell(line: str) -> None:
    Console(stderr=True).print(line, highlight=False, soft_wrap=True)


def _ports(port: str, admin_port: str, loadgen_metrics_port: str) -> Ports:
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
        raise InputError(f"{setting}={text}: not a port: a whole number from 1 to 65535, or 0 for a free one")
    return int(text)


def _console() -> Console:
    """Return the console; into a pipe or a file, lines are as long as they are."""
    piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(width=UNLIMITED_WIDTH if piped else None)


def _show_error(error: LabError) -> None:
    from lab.run.summary import print_error  # noqa: PLC0415

    print_error(Console(stderr=True), error)


def main() -> None:
    """Run the command line; every LabError becomes a message and its exit code."""
    try:
        app(prog_name="lab")
    except LabError as error:
        _show_error(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
