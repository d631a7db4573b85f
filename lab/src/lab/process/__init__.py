"""The processes of a run: how they start and end, the locks that they hold, and what happens at an interruption."""
