"""Two experiment files that use every key."""

from __future__ import annotations

WHOLE = """\
title: GET at 70,000/s
service:
  variant: stack
  workers: 8
  queue_capacity: 1k
  deadline: 250ms
  flush_threshold: 20MiB
  compaction: on
  jvm: [-Xmx2g, -XX:+UseZGC]
dataset: tiny
load:
  script: get.lua
  rate: 70k
  threads: 4
  connections: 64
  duration: 1m
  warmup: 10s
repeat: 3
profile:
  events: [cpu, wall]
  interval: 1ms
reference:
  source: report A
  requests_per_second: 59899.55
  latency: {mean: 4.486s, p50: 5.57s, p99.9: 8.53s, max: 8.58s}
  shares:
    - {event: cpu, categories: [queue, lock], what: synchronisation, low: 0.2, high: 0.25}
"""


SWEEP = WHOLE.replace("rate: 70k", "rate: [1000, 2k, 5000]").replace(
    "  requests_per_second: 59899.55\n  latency: {mean: 4.486s, p50: 5.57s, p99.9: 8.53s, max: 8.58s}\n",
    "  cpus: 8\n  at:\n    - {rate: 2000, requests_per_second: 1990, latency: {p99: 3ms}}\n",
)
