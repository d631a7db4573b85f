"""Latency against rate: what a sweep and a search show, in charts, in a table, and on a page of the report's design."""
