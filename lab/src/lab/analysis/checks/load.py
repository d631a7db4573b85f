"""Checks of the load: that it was the requested one, and that the latencies are those of the service."""

from __future__ import annotations

from lab.analysis.checks.check_input import CheckInput
from lab.analysis.percentiles import REPORTED, label, samples_needed, supported
from lab.manifest import Check, CheckOutcome, Measurement

RATE_SHORTFALL_MAX = 0.01
ERROR_SHARE_WARN = 0.001
ERROR_SHARE_FAIL = 0.10
RATE_SPREAD_MAX = 0.035
LATENCY_SPREAD_MAX = {"50": 0.18, "99": 0.35}
"""Standard deviation ÷ mean, which does not grow with the number of repetitions, unlike their range."""


def is_saturated(measurement: Measurement) -> bool:
    """Return whether the offered rate was missed by more than the tolerance."""
    achieved, offered = measurement.rate_achieved_per_s, measurement.rate_offered_per_s
    return achieved is not None and offered > 0 and achieved < offered * (1 - RATE_SHORTFALL_MAX)


def errors(known: CheckInput) -> Check:
    """Count errors. Refusals are not errors: `refusals` counts them."""
    refused = known.summary.refused or 0
    errors = known.summary.errors.model_copy(update={"status": max(0, known.summary.errors.status - refused)})
    requests = known.summary.requests
    if not errors.total:
        return Check(name="errors", outcome="pass", detail="no errors")
    kinds = ", ".join(f"{getattr(errors, kind):,} {word}" for kind, word in _ERROR_WORDS if getattr(errors, kind))
    share = errors.total / max(requests, 1)
    detail = f"{errors.total:,} errors in {requests:,} requests ({share:.2%}): {kinds}"
    outcome: CheckOutcome = "note"
    if share >= ERROR_SHARE_FAIL:
        outcome = "fail"
        detail += "; many of the latencies are those of errors"
    elif share >= ERROR_SHARE_WARN:
        outcome = "warn"
    return Check(name="errors", outcome=outcome, detail=detail)


_ERROR_WORDS = (
    ("connect", "connections failed"),
    ("read", "reads failed"),
    ("write", "writes failed"),
    ("timeout", "timed out"),
    ("status", "responses outside 2xx and 3xx"),
)


def refusals(known: CheckInput) -> Check:
    """Count what the service refused (429, 503). Their rate and latencies are reported apart from served requests."""
    summary = known.summary
    if not summary.refused:
        unknown = summary.refused is None
        detail = "the load generator does not count refusals" if unknown else "nothing was refused"
        return Check(name="refusals", outcome="unknown" if unknown else "pass", detail=detail)
    goodput = "" if summary.goodput_per_s is None else f"; {summary.goodput_per_s:,.0f} requests/s were served"
    return Check(
        name="refusals",
        outcome="note",
        detail=f"{REFUSED}: {summary.refused:,} of {summary.requests:,} requests "
        f"({summary.refused / max(summary.requests, 1):.1%}){goodput}. Read the latencies of served requests",
    )


REFUSED = "the service refused requests"
"""Beginning of the finding about refusals."""


def samples(known: CheckInput) -> Check:
    """Check that each repetition has a measured response, and whether there are enough latencies for a p99."""
    repetitions = known.summary.repetitions
    empty = [r.source.rpartition("/")[2] for r in repetitions if not r.requests]
    if empty:
        several, which = len(empty) > 1, " and ".join(empty)
        name = "the repetition" if len(repetitions) == 1 else f"repetition{'s' if several else ''} {which}"
        have = "have" if several else "has"
        return Check(name="samples", outcome="fail", detail=f"{name} {have} not one measured response")
    count = known.summary.headline_ms.count
    if not supported(count, "99"):
        return Check(
            name="samples",
            outcome="warn",
            detail=f"{count:,} latencies are too few for a p99 (at least {samples_needed('99'):,})",
        )
    too_far = [label(p) for p in REPORTED if not supported(count, p)]
    missing = f", too few for {', '.join(too_far)}" if too_far else ""
    return Check(name="samples", outcome="pass", detail=f"{count:,} latencies{missing}")


DELAYED_ACK = "latencies cluster at 40 ms"
"""Beginning of the finding about delayed ACKs."""
DELAYED_ACK_SHARE_MIN = 0.001


def delayed_ack(known: CheckInput) -> Check:
    """Look for latencies that are those of Linux's delayed ACK, not of the service's work.

    A server that writes head and body of a response apart, without TCP_NODELAY, sends the body when the client has
    acknowledged the head (Nagle's algorithm); and the client waits 40 ms with that, for more to acknowledge at once.
    """
    share = known.conditions.at_delayed_ack
    if share is None:
        return Check(name="delayed ACK", outcome="unknown", detail="the latencies are not known")
    if share < DELAYED_ACK_SHARE_MIN:
        return Check(name="delayed ACK", outcome="pass", detail="no latencies cluster at 40 ms")
    return Check(
        name="delayed ACK",
        outcome="note",
        detail=f"{DELAYED_ACK}, the time of a delayed ACK: {share:.1%} of them. A server that writes a response in "
        "parts waits that long between them, unless it sets TCP_NODELAY",
    )


def unfinished(known: CheckInput) -> Check:
    """Count requests without a response."""
    left = known.summary.unfinished
    if left is None:
        return Check(
            name="unfinished", outcome="unknown", detail="requests without a response at the end are not reported"
        )
    if not left.count:
        return Check(name="unfinished", outcome="pass", detail="every request was answered")
    waited = f", the oldest after {left.oldest_us / 1e3:,.1f} ms" if left.oldest_us is not None else ""
    share = left.count / max(left.count + known.summary.requests, 1)
    detail = f"{left.count:,} requests had no response when the load ended{waited}; they count as the longest"
    outcome: CheckOutcome = "warn" if share > RATE_SHORTFALL_MAX and not is_saturated(known.summary) else "note"
    return Check(name="unfinished", outcome=outcome, detail=detail)


def repetitions(known: CheckInput) -> Check:
    """Check whether the repetitions are complete and agree."""
    summary = known.summary
    wanted = known.manifest.experiment.resolved.repeat
    if len(summary.repetitions) < wanted:
        return Check(
            name="repetitions", outcome="warn", detail=f"only {len(summary.repetitions)} of {wanted} repetitions"
        )
    if summary.agreement is None:
        return Check(
            name="repetitions",
            outcome="note",
            detail="one repetition: the spread between two starts of the service is not known",
        )
    spreads = summary.agreement.latency_spread
    far = [f"{label(p)} by {spreads[p]:.0%}" for p, limit in LATENCY_SPREAD_MAX.items() if spreads.get(p, 0.0) > limit]
    if (summary.agreement.rate_spread or 0.0) > RATE_SPREAD_MAX:
        far.insert(0, f"the achieved rate by {summary.agreement.rate_spread:.1%}")
    if far:
        return Check(name="repetitions", outcome="warn", detail=f"the repetitions disagree: {', '.join(far)}")
    return Check(name="repetitions", outcome="pass", detail=f"{len(summary.repetitions)} repetitions agree")
