"""The dashboard of a run: what was offered, what came back, and where the time went, from overview to detail."""

from panels import DATASOURCE, RATE, Json, Query, Row, dashboard, heatmap, series, stat, table
from run_dashboard_inside import host, jvm, storage

#: A quantile of the service's histogram by stage.
STAGE_QUANTILE = (
    "histogram_quantile({quantile}, sum by (le, stage) "
    '(rate(lsmlab_request_seconds_bucket{{method=~"$method", stage!="total"}}[' + RATE + "])))"
)


def _variables() -> list[Json]:
    return [
        {
            "name": "datasource",
            "label": "Data source",
            "type": "datasource",
            "query": "prometheus",
            "current": {"text": "Prometheus", "value": "lsmlab-prometheus"},
            "hide": 0,
            "includeAll": False,
            "multi": False,
            "options": [],
            "refresh": 1,
        },
        {
            "name": "method",
            "label": "Method",
            "type": "query",
            "datasource": DATASOURCE,
            "query": {"query": "label_values(lsmlab_requests_total, method)", "refId": "method"},
            "definition": "label_values(lsmlab_requests_total, method)",
            "current": {"text": ["All"], "value": ["$__all"]},
            "allValue": ".+",
            "includeAll": True,
            "multi": True,
            "refresh": 2,
            "sort": 1,
            "options": [],
        },
        {
            "name": "quantile",
            "label": "Quantile",
            "type": "custom",
            "query": "0.5,0.9,0.99,0.999",
            "current": {"text": "0.99", "value": "0.99"},
            "includeAll": False,
            "multi": False,
            "options": [
                {"text": value, "value": value, "selected": value == "0.99"}
                for value in ("0.5", "0.9", "0.99", "0.999")
            ],
        },
    ]


def _annotations() -> list[Json]:
    """The phases of a run, from Prometheus: they outlive Grafana's own storage."""
    return [
        {
            "name": "Phases of the run",
            "datasource": DATASOURCE,
            "enable": True,
            "hide": False,
            "iconColor": "purple",
            "expr": "1000 * lab_phase_start_seconds"
            " * on (phase, instance) group_left (run, experiment, variant) lab_run_info",
            "step": "1s",
            "titleFormat": "{{phase}}",
            "textFormat": "{{experiment}} ({{variant}}), run {{run}}",
            "tagKeys": "experiment,variant",
            "useValueForTime": True,
        },
        {
            "name": "Warnings",
            "datasource": DATASOURCE,
            "enable": True,
            "hide": False,
            "iconColor": "red",
            "expr": 'ALERTS{alertstate="firing"}',
            "step": "5s",
            "titleFormat": "{{alertname}}",
            "textFormat": "{{reason}}",
            "tagKeys": "severity",
            "useValueForTime": False,
        },
    ]


def _overview() -> Row:
    errors = [(None, "green"), (0.001, "red")]
    return Row(
        "Overview",
        [
            table(
                "Run",
                "The run that is going on and its phase, as the lab publishes them.",
                Query("lab_run_info", instant=True, format="table"),
                {
                    "experiment": "Experiment",
                    "variant": "Variant",
                    "phase": "Phase",
                    "run": "Run",
                    "runtime": "Runtime",
                },
            ),
            stat(
                "Offered",
                "Requests that became due each second: the constant rate of the experiment.",
                "reqps",
                Query(f"sum(rate(loadgen_requests_due_total[{RATE}]))"),
            ),
            stat(
                "Achieved",
                "Requests answered each second.",
                "reqps",
                Query(f"sum(rate(loadgen_requests_total[{RATE}]))"),
            ),
            stat(
                "p99 latency",
                "99% of the requests of the last second took less, counted from the moment each was due.",
                "s",
                Query('max(loadgen_latency_seconds{quantile="0.99"})'),
            ),
            stat(
                "Errors",
                "Failed requests each second, of every kind, as the load generator sees them.",
                "reqps",
                Query(f"sum(rate(loadgen_errors_total[{RATE}]))"),
                steps=errors,
            ),
            series(
                "Rate: offered and achieved",
                "Requests due, and requests answered. Where the lines part, requests pile up and the latency grows.",
                "reqps",
                Query(f"sum(rate(loadgen_requests_due_total[{RATE}]))", "offered"),
                Query(f"sum(rate(loadgen_requests_total[{RATE}]))", "achieved"),
                width=12,
            ),
            series(
                "Latency",
                "Quantiles of each second, from the moment each request was due: waiting for a busy connection counts. "
                "This is the headline figure; the service's own times below show where it was spent.",
                "s",
                Query('max by (quantile) (loadgen_latency_seconds{quantile!="1"})', "p{{quantile}}"),
                Query('max(loadgen_latency_seconds{quantile="1"})', "max"),
                width=12,
                log=True,
            ),
        ],
    )


def _load_generator() -> Row:
    return Row(
        "Load generator",
        [
            series(
                "Send lag",
                "How much later a request left than from a generator that is never late. It belongs to no "
                "service; above a millisecond the latencies are in doubt.",
                "s",
                Query("max by (quantile) (loadgen_send_lag_seconds)", "p{{quantile}}"),
                log=True,
            ),
            series(
                "In flight",
                "Requests sent and not answered yet. As many as connections: all of them are busy.",
                "short",
                Query("sum(loadgen_in_flight)", "requests"),
            ),
            series(
                "Backlog",
                "Requests due and not sent, because their connections wait for the service. While it grows, the "
                "offered rate is not held.",
                "short",
                Query("sum(loadgen_backlog)", "requests"),
            ),
            series(
                "Errors by kind",
                "Connections refused or broken, timeouts, and answers other than 2xx and 3xx.",
                "reqps",
                Query(f"sum by (kind) (rate(loadgen_errors_total[{RATE}]))", "{{kind}}"),
                stacked=True,
            ),
        ],
    )


def _service() -> Row:
    return Row(
        "Service",
        [
            series(
                "Answers by method and status",
                "What the service answered, as it counts itself.",
                "reqps",
                Query(
                    f'sum by (method, status) (rate(lsmlab_requests_total{{method=~"$method"}}[{RATE}]))',
                    "{{method}} {{status}}",
                ),
            ),
            series(
                "Time by stage, quantile $quantile",
                "Where a request spends its time in the service: before its selector reads it, in the queue, in the "
                "storage engine, in the reply. Quantiles of stages do not add up; the means beside do. The service "
                "cannot see requests that wait outside of it.",
                "s",
                Query(STAGE_QUANTILE.format(quantile="$quantile"), "{{stage}}"),
                log=True,
            ),
            series(
                "Mean time by stage",
                "The same stages as means, which add up to the mean of the whole.",
                "s",
                Query(
                    f'sum by (stage) (rate(lsmlab_request_seconds_sum{{method=~"$method", stage!="total"}}[{RATE}])) / '
                    f'sum by (stage) (rate(lsmlab_request_seconds_count{{method=~"$method", stage!="total"}}[{RATE}]))',
                    "{{stage}}",
                ),
                stacked=True,
            ),
            heatmap(
                "Time in the service",
                "All requests by the time from reading to reply. Two bands are two ways through the code.",
                "s",
                Query(
                    "sum by (le) "
                    f'(increase(lsmlab_request_seconds_bucket{{method=~"$method", stage="total"}}[{RATE}]))',
                    "{{le}}",
                    format="heatmap",
                ),
                width=12,
            ),
            series(
                "Queue",
                "Requests that wait for a worker, and how many may. A full queue answers 503.",
                "short",
                Query("sum(lsmlab_queue_depth)", "depth"),
                Query("sum(lsmlab_queue_capacity)", "capacity"),
                width=6,
            ),
            series(
                "Rejected",
                "Requests answered 503, by reason.",
                "reqps",
                Query(f"sum by (reason) (rate(lsmlab_rejected_total[{RATE}]))", "{{reason}}"),
                width=6,
                stacked=True,
            ),
        ],
    )


def build() -> Json:
    """The dashboard."""
    return dashboard(
        uid="lsmlab-run",
        title="LSM Lab: a run",
        description="One run of an experiment as it happens: offered load, latency, where the service spends its time.",
        tags=["lsmlab"],
        rows=[_overview(), _load_generator(), _service(), storage(), jvm(), host()],
        variables=_variables(),
        annotations=_annotations(),
    )
