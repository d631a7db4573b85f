"""Compare: two runs in one graph, by time since the start of their measurement."""

from common import QUANTILE, build, query_variable, runs_row
from panels import RATE, Json, Panel, Query, Row, series

BOTH = 'run=~"$run_a|$run_b"'
#: Up to 30 days before or after the time shown.
ANY_TIME = "[60d] offset -30d"
START = f'min(min_over_time(lsmlab:measure_start_seconds{{{{run="{{run}}"}}}}{ANY_TIME}))'
#: Seconds by which run B is moved to lie over run A.
SHIFT = query_variable(
    "shift",
    "Shift",
    f"query_result(round({START.format(run='$run_a')} - {START.format(run='$run_b')}))",
    regex=r"/\} (-?\d+)/",
    all_values=False,
    hide=2,
)


def both(template: str, legend: str) -> list[Query]:
    """One figure of run A, and of run B shifted in time to run A; `@` in the template stands for the offset."""
    a = f'({template.replace("@", "")}) and on() lsmlab:run{{run="$run_a"}}'
    offset = " offset ${shift}s1ms"  # plus a millisecond, because Prometheus refuses an offset of 0
    b = f'({template.replace("@", offset)}) and on() lsmlab:run{{run="$run_b"}}{offset}'
    return [Query(a, f"A {legend}".strip()), Query(b, f"B {legend}".strip())]


#: Run B is dashed, so that run A shows through the gaps if both lines coincide.
DASHED = {
    "matcher": {"id": "byRegexp", "options": "/^B/"},
    "properties": [{"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [6, 4]}}],
}


def _panel(title: str, description: str, unit: str, template: str, legend: str = "", *, log: bool = False) -> Panel:
    return series(title, description, unit, *both(template, legend), log=log, overrides=[DASHED])


def _rate(counter: str, by: str = "") -> str:
    return f"sum{f' by ({by})' if by else ''} (rate({counter}[{RATE}]@))"


def _client() -> Row:
    buckets = f"sum by (le) (rate(loadgen_response_latency_seconds_bucket[{RATE}]@))"
    return Row(
        "Client",
        [
            _panel("Achieved rate", "Responses each second.", "reqps", _rate("loadgen_requests_total")),
            _panel(
                "Latency, quantile $quantile",
                "Latency in the seconds around each point, from the moment each request was due.",
                "s",
                f"histogram_quantile($quantile, {buckets})",
                log=True,
            ),
            _panel("Backlog", "Requests due and not sent.", "short", "sum(loadgen_backlog@)"),
        ],
    )


def _service() -> Row:
    stages = '{stage!="total"}'
    return Row(
        "Service",
        [
            _panel(
                "Mean time by stage",
                "Where a request spends its time in the service.",
                "s",
                f"{_rate(f'lsmlab_request_seconds_sum{stages}', 'stage')} / "
                f"{_rate(f'lsmlab_request_seconds_count{stages}', 'stage')}",
                "{{stage}}",
            ),
            _panel("Queue depth", "Requests that wait for a worker.", "short", "sum(lsmlab_queue_depth@)"),
            _panel("Rejected", "Requests answered 503.", "reqps", _rate("lsmlab_rejected_total")),
            _panel(
                "CPUs used by the service",
                "Kernel included.",
                "short",
                _rate('process_cpu_seconds_total{job="service"}'),
            ),
            _panel("Allocation rate", "Bytes allocated each second.", "Bps", _rate("jvm_allocated_bytes_total")),
            _panel(
                "Garbage collection",
                "Share of the time in collections.",
                "percentunit",
                _rate("jvm_gc_collection_seconds_sum"),
            ),
        ],
    )


def _storage() -> Row:
    return Row(
        "Storage engine and host",
        [
            _panel(
                "Bytes written to SSTables",
                "By flushes and compactions, each second.",
                "Bps",
                f"{_rate('lsmlab_flush_bytes_total')} + {_rate('lsmlab_compaction_bytes_total')}",
            ),
            _panel(
                "Writes held back",
                "Seconds that writers wait in each second.",
                "s",
                _rate("lsmlab_write_stall_seconds_total"),
            ),
            _panel(
                "Steal",
                "CPU time that the hypervisor gave to others. If the runs differ here, they cannot be compared.",
                "percentunit",
                f'max(rate(node_cpu_seconds_total{{mode="steal"}}[{RATE}]@))',
            ),
        ],
    )


def build_board() -> Json:
    """The dashboard."""
    runs = "label_values(lsmlab:measure_start_seconds, run)"
    return build(
        "compare",
        "Two runs in one graph, by time since the start of their measurement. Run B is shifted onto run A and dashed.",
        [_client(), _service(), _storage()],
        variables=[
            query_variable("run_a", "Run A", runs, all_values=False),
            query_variable("run_b", "Run B", runs, all_values=False),
            SHIFT,
        ],
        more_variables=[QUANTILE],
        which=BOTH,
        runs=runs_row(
            "The two runs",
            f"min_over_time(lsmlab:measure_start_seconds{{{BOTH}}}{ANY_TIME})",
            f"last_over_time(lab_run_verdict{{{BOTH}}}{ANY_TIME})",
        ),
    )
