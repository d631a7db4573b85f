"""Experiment: whether the offered load was served, how fast, and whether the figures can be trusted."""

from common import CHOSEN_RUNS, METHOD, VERDICTS, build, of_run, once, rate
from panels import RATE, Json, Query, Row, series, stat, table, texts

#: Shows a figure in red from 0.1% of the requests on, as the rule LoadErrors does.
ERROR_SHARE_MAX = 0.001
SEND_LAG_MAX_S = 0.001


def _quantile(quantile: float) -> str:
    """A percentile over the whole time shown, from merged buckets: percentiles of seconds cannot be merged."""
    buckets = "increase(loadgen_response_latency_seconds_bucket[$__range])"
    return f"histogram_quantile({quantile}, sum by (le) ({buckets}))"


def _overview() -> Row:
    return Row(
        "Overview",
        [
            table(
                "Now",
                "The run in progress and its phase, as the lab publishes them.",
                once(Query("lab_run_info")),
                {"experiment": "Experiment", "service": "Service", "phase": "Phase", "run": "Run"},
                width=7,
            ),
            stat(
                "Offered",
                "Requests that became due each second: the constant rate of the experiment.",
                "reqps",
                of_run(rate("loadgen_requests_due_total")),
                width=3,
            ),
            stat("Achieved", "Responses each second.", "reqps", of_run(rate("loadgen_requests_total")), width=3),
            stat(
                "p99 latency",
                "99% of the requests of the last second took less, counted from the moment each was due.",
                "s",
                of_run('max(loadgen_latency_seconds{quantile="0.99"})'),
                width=3,
            ),
            stat(
                "Errors",
                "Share of the responses that failed, as the load generator sees them. Red from 0.1% on.",
                "percentunit",
                of_run(f"{rate('loadgen_errors_total')} / clamp_min({rate('loadgen_requests_total')}, 1)"),
                width=3,
                steps=[(None, "green"), (ERROR_SHARE_MAX, "red")],
            ),
            stat(
                "Warnings",
                "Rules that fire now.",
                "none",
                Query('count(ALERTS{alertstate="firing"}) or vector(0)'),
                width=2,
                steps=[(None, "green"), (1, "red")],
                mappings=texts("none"),
            ),
            stat(
                "Verdict",
                "The most serious verdict of the runs in the time shown. The lab gives it after the load, in the phase "
                "report; the reasons are in the run's report.",
                "none",
                Query(
                    f"max({VERDICTS} and on (run) "
                    f"last_over_time(lsmlab:measure_start_seconds{{{CHOSEN_RUNS}}}[$__range]))",
                    instant=True,
                ),
                width=3,
                steps=[(None, "green"), (1, "orange"), (2, "red")],
                mappings=texts("valid", "suspect", "invalid"),
                nothing="after the run",
            ),
            series(
                "Rate: offered and achieved",
                "Requests due, and responses. If the lines diverge, requests pile up and the latency grows.",
                "reqps",
                of_run(rate("loadgen_requests_due_total"), "offered"),
                of_run(rate("loadgen_requests_total"), "achieved"),
                of_run(rate("loadgen_served_total"), "served"),
                width=12,
            ),
            series(
                "Latency of each second",
                "Percentiles of each second, from the moment each request was due, so waiting for a busy connection "
                "counts. This is the headline figure; the service's own times show where it was spent.",
                "s",
                of_run('max by (quantile) (loadgen_latency_seconds{quantile!="1"})', "p{{quantile}}"),
                of_run('max(loadgen_latency_seconds{quantile="1"})', "max"),
                width=12,
                log=True,
            ),
        ],
    )


def _range() -> Row:
    note = "Of all responses in the time shown, whichever run they belong to. Exact to the width of a bucket."
    failed = [(None, "green"), (1.0, "red")]
    return Row(
        "The time shown, as a whole",
        [
            *(
                stat(
                    f"p{100 * quantile:g}",
                    f"{note} From the moment each request was due.",
                    "s",
                    Query(_quantile(quantile), instant=True),
                )
                for quantile in (0.5, 0.9, 0.99, 0.999)
            ),
            stat("Responses", note, "short", Query("sum(increase(loadgen_requests_total[$__range]))", instant=True)),
            stat(
                "Failed",
                "Failed requests in the time shown.",
                "short",
                Query("sum(increase(loadgen_errors_total[$__range]))", instant=True),
                steps=failed,
            ),
        ],
    )


def _load_generator() -> Row:
    return Row(
        "Load generator",
        [
            series(
                "In flight",
                "Requests sent and without a response yet. As many as connections: all of them are busy.",
                "short",
                of_run("sum(loadgen_in_flight)", "requests"),
                width=6,
            ),
            series(
                "Backlog",
                "Requests due and not sent, because their connections wait for the service. While it grows, the "
                "offered rate is not kept.",
                "short",
                of_run("sum(loadgen_backlog)", "requests"),
                width=6,
            ),
            series(
                "Errors by kind",
                "Connections refused or broken, timeouts, and responses with an unexpected status.",
                "reqps",
                of_run(rate("loadgen_errors_total", "kind"), "{{kind}}"),
                width=6,
                stacked=True,
            ),
            series(
                "Send lag",
                "Time by which requests were sent later than by a generator that is never late. The service does not "
                "cause it. Above the line, 1 ms, the latencies are in doubt.",
                "s",
                of_run('max by (quantile) (loadgen_send_lag_seconds{quantile!="1"})', "p{{quantile}}"),
                of_run('max(loadgen_send_lag_seconds{quantile="1"})', "max"),
                width=6,
                log=True,
                steps=[(None, "transparent"), (SEND_LAG_MAX_S, "red")],
            ),
            series(
                "CPUs used, by part",
                "CPUs that each part uses. Service and load generator have CPUs of their own if there are enough.",
                "short",
                of_run(f'sum(rate(process_cpu_seconds_total{{job="service"}}[{RATE}]))', "service"),
                of_run(rate("loadgen_cpu_seconds_total"), "load generator"),
                of_run(f'sum(rate(node_cpu_seconds_total{{mode!~"idle|iowait|steal"}}[{RATE}]))', "whole host"),
                width=12,
            ),
            series(
                "Busiest event loop of the load generator",
                "Share of a CPU that it uses, without polling. Above the line, 90%, it needs more CPUs.",
                "percentunit",
                of_run("max(loadgen_busiest_loop_share)", "busiest loop"),
                width=6,
                steps=[(None, "transparent"), (0.9, "red")],
            ),
            series(
                "Responses by method and status",
                "Responses of the service, by its own count.",
                "reqps",
                of_run(rate('lsmlab_requests_total{method=~"$method"}', "method, status"), "{{method}} {{status}}"),
                width=6,
            ),
        ],
    )


def build_board() -> Json:
    """The dashboard."""
    return build(
        "experiment",
        "Offered load and responses, as the client sees them; the runs and their reports.",
        [_overview(), _range(), _load_generator()],
        more_variables=[METHOD],
    )
