"""Starts the measured processes: directly (`local`) or in containers (`docker`), behind one interface."""
