"""The dashboards, a module each: `build()` returns Grafana's JSON."""
