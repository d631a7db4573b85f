"""The commands by subject, each a thin function: it reads its options, calls one function and prints.

They import what they call only when they run, so that `lab list` and `--help` do not wait for NumPy.
"""
