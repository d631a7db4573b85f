"""The lab: reads experiments, drives runs, analyses, compares and reports them."""

__version__ = "0.1.0"
