"""Comparisons: two experiments in turns, or two finished runs, and one verdict. docs/compare.md has the method."""
