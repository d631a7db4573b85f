"""The processes of a run: how they start and end, their locks, and what happens at an interruption."""
