"""The local runtime: every process of a run as a process of this machine, pinned by taskset."""
