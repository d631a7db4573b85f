"""One module for each dashboard. Its `build_board()` returns Grafana's JSON."""
