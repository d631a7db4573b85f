"""Latency against rate: the result of a sweep or a search, in charts, in a table, and on a page like the report's."""
