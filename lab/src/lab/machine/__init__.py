"""The machine that measures: its CPUs, its state, its noise, and its fingerprint in run.json."""
