"""The board of the time that a request spends in each stage of the service."""

from common import CHOSEN, METHOD, QUANTILE, build, of_run, rate
from panels import RATE, Json, Query, Row, heatmap, series

STAGES = '{method=~"$method", stage!="total"}'
TOTAL = '{method=~"$method", stage="total"}'


def _quantile(quantile: str, selector: str, by: str) -> str:
    buckets = f"rate(lsmlab_request_seconds_bucket{selector}[{RATE}])"
    return f"histogram_quantile({quantile}, sum by ({by}) ({buckets}))"


def _mean(selector: str, by: str) -> str:
    return (
        f"{rate(f'lsmlab_request_seconds_sum{selector}', by)} / {rate(f'lsmlab_request_seconds_count{selector}', by)}"
    )


def _stages() -> Row:
    return Row(
        "By stage",
        [
            series(
                "Mean time by stage",
                "From the selector's wake-up to the written response: waiting for the selector thread, waiting in the "
                "queue, in the storage engine, writing the response. The means add up to the mean of the whole.",
                "s",
                of_run(_mean(STAGES, "stage"), "{{stage}}"),
                width=12,
                stacked=True,
            ),
            series(
                "Time by stage, quantile $quantile",
                "The same stages at one quantile. Quantiles of stages do not add up; the means beside them do.",
                "s",
                of_run(_quantile("$quantile", STAGES, "le, stage"), "{{stage}}"),
                width=12,
                log=True,
            ),
            series(
                "Client and service, quantile $quantile",
                "The client counts from the moment a request was due, the service from the moment its selector wakes "
                "up. What lies between them: the wait for a free connection, the network, the socket's buffer.",
                "s",
                of_run(
                    "histogram_quantile($quantile, sum by (le) "
                    f"(rate(loadgen_response_latency_seconds_bucket[{RATE}])))",
                    "client",
                ),
                of_run(_quantile("$quantile", TOTAL, "le"), "service"),
                log=True,
            ),
            heatmap(
                "Time in the service",
                "All requests by their time in the service. Two bands are two ways through the code.",
                "s",
                of_run(
                    f"sum by (le) (increase(lsmlab_request_seconds_bucket{TOTAL}[{RATE}]))", "{{le}}", format="heatmap"
                ),
                width=16,
            ),
        ],
    )


def _queue() -> Row:
    return Row(
        "Queue",
        [
            series(
                "Queue depth",
                "Requests that wait for a worker, and their maximum. A full queue answers 503.",
                "short",
                of_run("sum(lsmlab_queue_depth)", "depth"),
                of_run("sum(lsmlab_queue_capacity)", "capacity"),
                width=6,
            ),
            series(
                "Rejected",
                "Requests answered 503, by reason.",
                "reqps",
                of_run(rate("lsmlab_rejected_total", "reason"), "{{reason}}"),
                width=12,
                stacked=True,
            ),
            series(
                "Connections",
                "Open connections of the data port.",
                "short",
                of_run("sum(lsmlab_connections)", "connections"),
                width=6,
            ),
        ],
    )


def _by_service() -> Row:
    join = f" * on() group_left (service, experiment) {CHOSEN}"
    return Row(
        "By service and method",
        [
            series(
                "Mean time in the service, by service",
                "The same panel over several runs: each service has its line in its own time.",
                "s",
                Query(f"({_mean(TOTAL, '')}){join}", "{{service}} ({{experiment}})"),
                width=12,
            ),
            series(
                "Time in the service by method, quantile $quantile",
                "GET, PUT, DELETE and ranges have different ways through the engine.",
                "s",
                of_run(_quantile("$quantile", '{stage="total"}', "le, method"), "{{method}}"),
                width=12,
                log=True,
            ),
        ],
    )


def build_board() -> Json:
    """The dashboard."""
    return build(
        "time",
        "Where a request spends its time in the service: selector, queue, storage, response.",
        [_stages(), _queue(), _by_service()],
        more_variables=[METHOD, QUANTILE],
    )
