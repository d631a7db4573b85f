"""The machine that measures: its CPUs, its state, its noise, and the fingerprint of it that run.json holds."""
